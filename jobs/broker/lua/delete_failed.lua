-- Delete a failed job with its results. KEYS from 8: dependents, dependencies, started registry, group.
-- ARGV from 6: seconds to keep the mark, prefix of execution keys.
local objection = first_objection()
if objection then return objection end
if not (has_type(KEYS[10], 'zset') and has_type(KEYS[11], 'set')) then return 'damaged' end

redis.call('ZREM', KEYS[3], ARGV[1])
for _, execution in ipairs(redis.call('ZRANGE', KEYS[6], 0, -1)) do
    local full = ARGV[1] .. ':' .. execution
    redis.call('ZREM', KEYS[10], full)
    redis.call('DEL', ARGV[7] .. full)
end
redis.call('SREM', KEYS[11], ARGV[1])
redis.call('DEL', KEYS[1], KEYS[2], KEYS[6], KEYS[8], KEYS[9])
redis.call('SET', KEYS[7], 'deleted', 'EX', ARGV[6])
return 'done'
