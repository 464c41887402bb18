-- Put a failed job back on its queue, as RQ's Job.requeue. ARGV from 8: enqueued_at as RQ writes it.
local objection = objection_to_queueing({failed = true, stopped = true})
if objection then return objection end
local is_short = redis.call('LLEN', QUEUE) <= tonumber(LONGEST_QUEUE)
if is_short and is_queued() then return 'queued' end

leave_mark('requeued')
redis.call('HSET', JOB, 'status', 'queued', 'enqueued_at', ARGV[8], 'started_at', '', 'ended_at', '')
redis.call('HDEL', JOB, 'exc_info')
redis.call('ZREM', FAILED, ID)
restore_time_to_live()
-- What earlier runs left is evidence: it has to live as long as the job may fail again.
redis.call('PERSIST', RESULTS)
redis.call('SADD', QUEUES, QUEUE)
redis.call('RPUSH', QUEUE, ID)
return 'done'
