-- Queue a scheduled job before its time, as RQ's scheduler does when it is due; or put back an id that its queue has
-- lost. ARGV from 8: enqueued_at as RQ writes it.
local objection = objection_to_queueing({scheduled = true, queued = true})
if objection then return objection end
-- However long the queue: that the id is not in it is the only proof of the loss.
if is_queued() then return 'queued' end

-- As RQ's Job.should_enqueue_at_front.
local is_repeated = tonumber(field('enqueue_at_front_on_retry')) == 1 and field('ended_at') ~= ''
local push = (is_repeated or tonumber(field('enqueue_at_front')) == 1) and 'LPUSH' or 'RPUSH'
leave_mark('enqueued')
redis.call('HSET', JOB, 'status', 'queued', 'enqueued_at', ARGV[8])
redis.call('ZREM', SCHEDULED, ID)
restore_time_to_live()
redis.call('SADD', QUEUES, QUEUE)
redis.call(push, QUEUE, ID)
return 'done'
