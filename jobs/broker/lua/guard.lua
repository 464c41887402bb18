-- Prepended to every act. KEYS: 1 job, 2 results, 3 failed registry, 4 queue, 5 queues, 6 executions, 7 mark.
-- ARGV: 1 job id, 2 queue name, 3 seen token, 4 deadline (Redis seconds), 5 longest queue to look through.
-- Nothing is written until every check has passed; a script that sat in a stopped server's socket finds its
-- deadline over and changes nothing.
local function has_type(key, wanted)
    local found = redis.call('TYPE', key).ok
    return found == 'none' or found == wanted
end

local function server_seconds()
    local time = redis.call('TIME')
    return tonumber(time[1]) + tonumber(time[2]) / 1000000
end

local function seen_token()
    local newest = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)
    if newest[1] then return newest[1][1] end
    return '-' .. (redis.call('HGET', KEYS[1], 'ended_at') or '')
end

local function is_queued()
    if redis.call('LLEN', KEYS[4]) > tonumber(ARGV[5]) then return false end
    return redis.call('LPOS', KEYS[4], ARGV[1]) and true or false
end

-- Returns the code of the first check that fails, or nil.
local function first_objection()
    if server_seconds() > tonumber(ARGV[4]) then return 'too_late' end
    if redis.call('EXISTS', KEYS[7]) == 1 then return 'already_done' end
    if not (has_type(KEYS[1], 'hash') and has_type(KEYS[2], 'stream') and has_type(KEYS[3], 'zset')
        and has_type(KEYS[4], 'list') and has_type(KEYS[5], 'set') and has_type(KEYS[6], 'zset')) then
        return 'damaged'
    end
    if redis.call('EXISTS', KEYS[1]) == 0 then return 'gone' end
    if redis.call('HGET', KEYS[1], 'origin') ~= ARGV[2] then return 'gone' end
    local status = redis.call('HGET', KEYS[1], 'status')
    if status ~= 'failed' and status ~= 'stopped' then return 'changed' end
    if seen_token() ~= ARGV[3] then return 'changed' end
    if not redis.call('ZSCORE', KEYS[3], ARGV[1]) then return 'changed' end
    if redis.call('ZCOUNT', KEYS[6], '(' .. string.format('%.6f', server_seconds()), '+inf') > 0 then return 'running' end
    if is_queued() then return 'queued' end
    -- RQ 3 keeps places for rate-limited jobs that only RQ can count.
    if redis.call('HEXISTS', KEYS[1], 'rate_limit_key') == 1 then return 'rate_limited' end
    return nil
end
