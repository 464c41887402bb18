-- Prepended to every act, so that all of them read and check alike. Nothing is written until every check has passed; a
-- script that sat in a stopped server's socket finds its deadline over and changes nothing.
local JOB, RESULTS, EXECUTIONS, DEPENDENTS, DEPENDENCIES, MARK = unpack(KEYS, 1, 6)
local QUEUE, INTERMEDIATE, QUEUES, SCHEDULER_LOCK = unpack(KEYS, 7, 10)
local STARTED, FAILED, FINISHED, SCHEDULED, DEFERRED, CANCELED, READY = unpack(KEYS, 11, 17)
local COMMON_KEYS = 17
local ID, QUEUE_NAME, SEEN, DEADLINE, LONGEST_QUEUE, MARK_SECONDS, JOB_PREFIX = unpack(ARGV, 1, 7)

local TYPES = {
    [JOB] = 'hash', [RESULTS] = 'stream', [EXECUTIONS] = 'zset', [DEPENDENTS] = 'set', [DEPENDENCIES] = 'set',
    [QUEUE] = 'list', [INTERMEDIATE] = 'list', [QUEUES] = 'set', [STARTED] = 'zset', [FAILED] = 'zset',
    [FINISHED] = 'zset', [SCHEDULED] = 'zset', [DEFERRED] = 'zset', [CANCELED] = 'zset', [READY] = 'zset',
}
-- What must list a job of that status. Where it does not, somebody is moving the job right now (RQ removes, then writes),
-- or it was lost: acting would give it two owners.
local LISTED_IN = {
    failed = FAILED, stopped = FAILED, scheduled = SCHEDULED, deferred = DEFERRED, canceled = CANCELED,
}
local REGISTRIES = {FAILED, FINISHED, SCHEDULED, DEFERRED, CANCELED, READY}
local CLOCKS_APART_SECONDS = 2

local function has_type(key, wanted)
    local found = redis.call('TYPE', key).ok
    return found == 'none' or found == wanted
end

-- The keys beyond the common ones are sets in every script that has such.
local function is_damaged()
    for key, wanted in pairs(TYPES) do
        if not has_type(key, wanted) then return true end
    end
    for at = COMMON_KEYS + 1, #KEYS do
        if not has_type(KEYS[at], 'set') then return true end
    end
    return false
end

local function server_seconds()
    local time = redis.call('TIME')
    return tonumber(time[1]) + tonumber(time[2]) / 1000000
end

-- The field's text, '' when it is missing: RQ writes '' for "not set".
local function field(name)
    return redis.call('HGET', JOB, name) or ''
end

-- The same text as records.seen_token.
local function seen_token()
    local status = field('status')
    if status == '' then return 'gone' end
    local token = status .. '@' .. field('enqueued_at') .. '/' .. field('started_at')
    if status == 'failed' or status == 'stopped' then
        local newest = redis.call('XREVRANGE', RESULTS, '+', '-', 'COUNT', 1)[1]
        token = newest and newest[1] or '-' .. field('ended_at')
    end
    return string.sub(token, 1, 128)
end

-- The started registry's entries of this job, <id>:<execution>, and when the last lease of one ends.
local function registered_runs()
    local runs, last_lease = {}, 0
    local started = redis.call('ZRANGE', STARTED, 0, -1, 'WITHSCORES')
    for at = 1, #started, 2 do
        -- Beyond the id stands the run's own, without a colon: another job's id may begin like this one.
        local is_of_job = string.sub(started[at], 1, #ID + 1) == ID .. ':'
        if is_of_job and not string.find(started[at], ':', #ID + 2, true) then
            table.insert(runs, started[at])
            last_lease = math.max(last_lease, tonumber(started[at + 1]))
        end
    end
    return runs, last_lease
end

local function is_running()
    local now, _, last_lease = server_seconds(), registered_runs()
    return last_lease > now or redis.call('ZCOUNT', EXECUTIONS, string.format('(%.6f', now), '+inf') > 0
end

-- A worker has the id in its hand, or the scheduler may have: it reads what is due, and then writes without looking
-- again, so that what was done in between would be undone or done twice.
local function is_taken()
    if redis.call('LPOS', INTERMEDIATE, ID) then return true end
    local due = redis.call('ZSCORE', SCHEDULED, ID)
    if not due or redis.call('EXISTS', SCHEDULER_LOCK) == 0 then return false end
    return tonumber(due) <= server_seconds() + CLOCKS_APART_SECONDS
end

local function is_queued()
    return redis.call('LPOS', QUEUE, ID) and true or false
end

local function is_listed_as(status)
    return not LISTED_IN[status] or redis.call('ZSCORE', LISTED_IN[status], ID)
end

-- An account that lacks one command would be refused in the middle of an act, and what was written before would stay.
-- (Redis 6 has no way to ask.)
local function may_do_all()
    if not redis.acl_check_cmd then return true end
    for _, command in ipairs({
        {'SET', MARK, '', 'EX', 1}, {'DEL', MARK}, {'DEL', JOB}, {'HSET', JOB, '', ''}, {'HDEL', JOB, ''},
        {'EXPIRE', JOB, 1}, {'PERSIST', JOB}, {'RPUSH', QUEUE, ID}, {'LPUSH', QUEUE, ID}, {'LREM', QUEUE, 0, ID},
        {'SADD', QUEUES, QUEUE}, {'SREM', DEPENDENTS, ID}, {'SMEMBERS', DEPENDENCIES}, {'ZADD', CANCELED, 0, ID},
        {'ZREM', FAILED, ID}, {'ZRANGE', EXECUTIONS, 0, -1},
    }) do
        if not redis.acl_check_cmd(unpack(command)) then return false end
    end
    return true
end

-- What speaks against any act at all: its code, or nil.
local function first_objection()
    if server_seconds() > tonumber(DEADLINE) then return 'too_late' end
    if redis.call('EXISTS', MARK) == 1 then return 'already_done' end
    if is_damaged() then return 'damaged' end
    if not may_do_all() then return 'refused' end
    return nil
end

-- What speaks against an act on a job that may have one of the `statuses` (nil: any): its code, or nil.
local function objection_to_job(statuses)
    local objection = first_objection()
    if objection then return objection end
    local status = field('status')
    if status == '' or field('origin') ~= QUEUE_NAME then return 'gone' end
    if statuses and not statuses[status] then return 'changed' end
    if seen_token() ~= SEEN or not is_listed_as(status) then return 'changed' end
    -- RQ 3 keeps places for rate-limited jobs that only RQ can count.
    if redis.call('HEXISTS', JOB, 'rate_limit_key') == 1 then return 'rate_limited' end
    return nil
end

local function objection_to_resting_job(statuses)
    local objection = objection_to_job(statuses)
    if objection then return objection end
    if is_running() then return 'running' end
    if is_taken() then return 'taken' end
    return nil
end

-- What speaks against queueing the job. A run that RQ has not given up yet, though its lease is over, will be filed as
-- abandoned, wherever the job is then: it would be failed while it is queued.
local function objection_to_queueing(statuses)
    local objection = objection_to_resting_job(statuses)
    if objection then return objection end
    if #registered_runs() > 0 then return 'running' end
    -- The scheduler asks for no status: what stands in its list besides would be queued a second time.
    if field('status') ~= 'scheduled' and redis.call('ZSCORE', SCHEDULED, ID) then return 'taken' end
    return nil
end

-- The first write of an act. Redis refuses it when its memory is out, before anything has changed; from the first write
-- on it refuses no more, so what follows can't stop halfway.
local function leave_mark(outcome)
    redis.call('SET', MARK, outcome, 'EX', MARK_SECONDS)
end

-- For acts that a full store has to take, since they make room: after a write that needs no memory (there is no mark to
-- delete) Redis regards the script as begun and lets it write on.
local function leave_mark_even_when_full(outcome)
    redis.call('DEL', MARK)
    leave_mark(outcome)
end

-- As RQ's enqueue: a time-to-live of the job's own counts anew. Without one the hash stays; RQ lets that of the failure
-- run on, which would delete the job while it waits.
local function restore_time_to_live()
    local seconds = tonumber(field('ttl'))
    if not seconds or seconds <= 0 then return redis.call('PERSIST', JOB) end
    for _, key in ipairs({JOB, DEPENDENTS, DEPENDENCIES}) do
        redis.call('EXPIRE', key, seconds)
    end
end

-- Have the jobs that it waits for forget it. RQ watches their lists while it releases dependents and then looks again;
-- otherwise it would queue what was read before this act.
local function leave_dependencies()
    for _, dependency in ipairs(redis.call('SMEMBERS', DEPENDENCIES)) do
        local dependents = JOB_PREFIX .. dependency .. ':dependents'
        if has_type(dependents, 'set') then redis.call('SREM', dependents, ID) end
    end
end

local function leave_registries()
    for _, registry in ipairs(REGISTRIES) do
        redis.call('ZREM', registry, ID)
    end
end

-- Delete the job and what is kept under its id; what lists it is another matter.
local function delete_data()
    for _, run in ipairs((registered_runs())) do
        redis.call('ZREM', STARTED, run)
    end
    redis.call('DEL', JOB, RESULTS, EXECUTIONS, DEPENDENTS, DEPENDENCIES)
end
