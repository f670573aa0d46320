-- Ends a claim. Delivering it twice changes nothing.
-- KEYS: the claim's mark, then for each payer its account and its leases.
-- ARGV: token, mode, how long marks are kept (ms), tokens (units) and cost used beyond what was
-- reserved, cost used in all, day and month it was reserved in, three month starts, then for each payer
-- the moment its account was born (or 0) and its limits.
-- Modes: `settle` a claim that was granted here; `release` one whose grant got lost on the way, which
-- leaves a mark so that it is not granted later; `charge` one that was granted elsewhere.
-- Returns ten numbers for each payer.
local token, mode, mark_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local tokens, cost, cost_in_all = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local reserved_in = {day = tonumber(ARGV[7]), month = tonumber(ARGV[8])}
local is_first = redis.call('SET', KEYS[1], '1', 'NX', 'PX', mark_ms)
if mode ~= 'release' and not is_first then return {} end

local function correct(account)
  if mode == 'release' and account.limits[1] >= 0 then
    account.requests = math.min(account.limits[1], account.requests + UNIT)
  end
  if account.limits[2] >= 0 then
    account.tokens = math.min(account.limits[2], account.tokens - tokens)
  end
  for period, since in pairs(reserved_in) do
    if account[period].since == since then
      account[period].spent = account[period].spent + cost
    end
  end
end

-- The account was lost since then, or never had the claim. Where spending is still unknown, the
-- store will tell all of it.
local function charge(account)
  for period, since in pairs(reserved_in) do
    local spending = account[period]
    if spending.since == since and spending.known then
      spending.spent = spending.spent + cost_in_all
    end
  end
end

local periods, reply = periods_at(now, 9), {}
for at = 1, (#KEYS - 1) / 2 do
  local first = 12 + (at - 1) * 8
  local leases = KEYS[2 * at + 1]
  local was_held = redis.call('ZREM', leases, token) == 1
  local account = read(KEYS[2 * at], leases, first + 1, periods)
  if mode == 'release' then
    if was_held then correct(account) end
  elseif mode == 'settle' and account.born == tonumber(ARGV[first]) then
    correct(account)
  else
    charge(account)
  end
  append(reply, told(account))
  write(account, false)
end
return reply
