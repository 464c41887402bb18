-- Cancel a job that waits, as RQ's Job.cancel(remove_from_dependencies=True). ARGV from 8: seconds of the act.
local objection = objection_to_resting_job({queued = true, scheduled = true, deferred = true})
if objection then return objection end
-- A worker of several queues takes the id out before it says so anywhere.
if field('status') == 'queued' and not is_queued() then return 'taken' end

leave_mark('canceled')
redis.call('HSET', JOB, 'status', 'canceled')
leave_dependencies()
-- Every copy: RQ takes out the first one, and a second would run.
redis.call('LREM', QUEUE, 0, ID)
leave_registries()
redis.call('ZADD', CANCELED, ARGV[8], ID)
return 'done'
