-- Ask the worker that runs the job to end the run, as RQ's send_stop_job_command. That it heard is all that is known.
-- ARGV from 8: the worker's channel, the command.
local objection = objection_to_job({started = true})
if objection then return objection end
if not is_running() then return 'changed' end

leave_mark_even_when_full('stop asked for')
local heard = redis.pcall('PUBLISH', ARGV[8], ARGV[9])
if type(heard) == 'number' and heard > 0 then return 'done' end
-- Nothing was asked of anybody, so nothing may say that it was.
redis.call('DEL', MARK)
return type(heard) == 'number' and 'unheard' or heard
