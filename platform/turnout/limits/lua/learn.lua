-- Takes in what the store knows of a period's spending, once. It may hold some of `own`, which was
-- counted here when the store was asked.
-- KEYS: account. ARGV: period, its start, told, own.
local key, period = KEYS[1], ARGV[1]
local told_cost, own = tonumber(ARGV[3]), tonumber(ARGV[4])
local kept = redis.call('HMGET', key, period, period .. '_known', period .. '_spent', 'born')
local since = tonumber(kept[1])
if since == tonumber(ARGV[2]) then
  if kept[2] == '1' then return 0 end
  local spent = tonumber(kept[3]) + math.max(told_cost, own) - own
  redis.call('HSET', key, period .. '_spent', whole(spent), period .. '_known', '1')
elseif not since or since < tonumber(ARGV[2]) then
  redis.call('HSET', key, period, ARGV[2], period .. '_spent', whole(told_cost),
    period .. '_known', '1', period .. '_alerted', '0')
else
  return 0
end
if not kept[4] then redis.call('HSET', key, 'born', whole(now), 'at', whole(now)) end
redis.call('PEXPIRE', key, KEEP_MS)
return 1
