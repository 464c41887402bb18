-- Put a failed job back on its queue. ARGV from 6: enqueued_at as RQ writes it, seconds to keep the mark.
local objection = first_objection()
if objection then return objection end

-- First a write that Redis refuses when its memory is out; were ZREM first, it would pass and the job be lost.
redis.call('HSET', KEYS[1], 'status', 'queued', 'enqueued_at', ARGV[6], 'started_at', '', 'ended_at', '')
redis.call('HDEL', KEYS[1], 'exc_info')
redis.call('ZREM', KEYS[3], ARGV[1])
-- The failure's time-to-live would delete the job while it waits. A time-to-live of its own counts anew, as in RQ.
local ttl = tonumber(redis.call('HGET', KEYS[1], 'ttl') or '')
if ttl and ttl > 0 then
    redis.call('EXPIRE', KEYS[1], ttl)
else
    redis.call('PERSIST', KEYS[1])
end
redis.call('SADD', KEYS[5], KEYS[4])
redis.call('RPUSH', KEYS[4], ARGV[1])
redis.call('SET', KEYS[7], 'requeued', 'EX', ARGV[7])
return 'done'
