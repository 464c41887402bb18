-- Delete a job that is not running, as RQ's Job.delete, with its results (RQ 2.12 leaves them) and every copy in the
-- queue (RQ leaves all but one). Jobs that wait for it stay deferred. ARGV from 8: prefix of execution keys.
-- KEYS from 18: its group, then the dependents of the jobs that it names as its dependencies.
local objection = objection_to_resting_job(nil)
if objection then return objection end

leave_mark_even_when_full('deleted')
leave_dependencies()
for at = COMMON_KEYS + 1, #KEYS do
    redis.call('SREM', KEYS[at], ID)
end
redis.call('LREM', QUEUE, 0, ID)
leave_registries()
for _, execution in ipairs(redis.call('ZRANGE', EXECUTIONS, 0, -1)) do
    redis.call('DEL', ARGV[8] .. ID .. ':' .. execution)
end
delete_data()
return 'done'
