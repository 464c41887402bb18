-- Take an id whose job is gone out of everything that still lists it, with what is left under its name.
-- A hash without a status counts as gone: a heartbeat after the job was deleted writes such.
local objection = first_objection()
if objection then return objection end
local origin = field('origin')
if origin ~= '' and origin ~= QUEUE_NAME then return 'gone' end
if field('status') ~= '' or seen_token() ~= SEEN then return 'changed' end
if is_running() then return 'running' end

local function is_listed()
    for _, registry in ipairs(REGISTRIES) do
        if redis.call('ZSCORE', registry, ID) then return true end
    end
    return #registered_runs() > 0 or is_queued() or redis.call('LPOS', INTERMEDIATE, ID)
end
if not is_listed() then return 'gone' end

leave_mark_even_when_full('removed')
leave_dependencies()
leave_registries()
redis.call('LREM', QUEUE, 0, ID)
redis.call('LREM', INTERMEDIATE, 0, ID)
delete_data()
return 'done'
