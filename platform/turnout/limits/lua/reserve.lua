-- Grants all of a claim or nothing.
-- KEYS: the claim's mark, then for each payer its account and its leases.
-- ARGV: token, lease_ms, whether unknown spending is asked for first, tokens (units), cost, three month
-- starts, then the limits of each payer.
-- Returns {status, now, day, month, ten numbers for each payer as they were before the claim}.
local GRANTED, REFUSED, UNKNOWN, GONE = 1, 0, 2, -1
local token, lease_ms, asks = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local tokens, cost = tonumber(ARGV[4]), tonumber(ARGV[5])
-- The gateway has given this claim up: it came too late.
if redis.call('EXISTS', KEYS[1]) == 1 then return {GONE} end

local function fits(account)
  local limits = account.limits
  return (limits[1] < 0 or UNIT <= account.requests)
    and (limits[2] < 0 or tokens <= account.tokens)
    and (limits[3] < 0 or account.running < limits[3])
    and (limits[4] < 0 or account.day.spent + cost <= limits[4])
    and (limits[5] < 0 or account.month.spent + cost <= limits[5])
end

local periods = periods_at(now, 6)
local accounts, status, is_known = {}, GRANTED, true
for at = 1, (#KEYS - 1) / 2 do
  local account = read(KEYS[2 * at], KEYS[2 * at + 1], 9 + (at - 1) * 7, periods)
  accounts[at] = account
  if not fits(account) then status = REFUSED end
  if (account.has_day and not account.day.known)
    or (account.has_month and not account.month.known) then is_known = false end
end
if asks and not is_known then status = UNKNOWN end

local reply = {status, now, periods.day, periods.month}
for _, account in ipairs(accounts) do
  append(reply, told(account))
  if status == GRANTED then
    account.requests, account.tokens = account.requests - UNIT, account.tokens - tokens
    account.day.spent, account.month.spent = account.day.spent + cost, account.month.spent + cost
    redis.call('ZADD', account.leases, whole(now + lease_ms), token)
    redis.call('PEXPIRE', account.leases, 2 * lease_ms)
  end
  write(account, true)
end
return reply
