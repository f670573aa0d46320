-- Counts as amounts.py and tally.py do: whole numbers, milliseconds since 1970, -1 for "no limit".
local UNIT, DAY_MS, KEEP_MS = 60000, 86400000, 40 * 86400000
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function whole(number)
  return string.format('%.0f', number)
end

-- Starts of the day and of the month; the caller names three months, this clock picks one of them.
local function periods_at(moment, first)
  local month = tonumber(ARGV[first])
  for at = first + 1, first + 2 do
    if tonumber(ARGV[at]) <= moment then month = tonumber(ARGV[at]) end
  end
  return {day = moment - moment % DAY_MS, month = month}
end

local function refilled(level, capacity, past_ms)
  if capacity < 0 then return 0 end
  if not level then return capacity end
  return math.min(capacity, tonumber(level) + past_ms * (capacity / UNIT))
end

local function spending_at(kept, first, since)
  local kept_since = tonumber(kept[first])
  if kept_since and kept_since >= since then
    local spent, known, alerted = tonumber(kept[first + 1]), kept[first + 2], kept[first + 3]
    return {since = kept_since, spent = spent, known = known == '1', alerted = alerted == '1'}
  end
  return {since = since, spent = 0, known = false, alerted = false}
end

-- The account of a payer as it is now. Its arguments: requests, tokens, running, day, month (what it
-- may use), then the spending of a day and of a month from which an alert is due.
local function read(key, leases, first, periods)
  local limits = {}
  for at = 0, 6 do limits[at + 1] = tonumber(ARGV[first + at]) end
  local kept = redis.call('HMGET', key, 'born', 'at', 'requests', 'tokens',
    'day', 'day_spent', 'day_known', 'day_alerted',
    'month', 'month_spent', 'month_known', 'month_alerted')
  local past_ms = math.max(0, now - (tonumber(kept[2]) or now))
  redis.call('ZREMRANGEBYSCORE', leases, '-inf', whole(now))
  return {
    key = key, leases = leases, born = tonumber(kept[1]) or now,
    requests = refilled(kept[3], limits[1], past_ms),
    tokens = refilled(kept[4], limits[2], past_ms),
    running = redis.call('ZCARD', leases),
    day = spending_at(kept, 5, periods.day), month = spending_at(kept, 9, periods.month),
    limits = limits, has_day = limits[4] >= 0, has_month = limits[5] >= 0,
  }
end

-- Writes an account back. A reservation forgets what is limited no more; a settlement brings the
-- limits of long ago, and forgets nothing.
local function write_spending(account, period, is_limited, forgets)
  local spending = account[period]
  if is_limited then
    redis.call('HSET', account.key, period, whole(spending.since),
      period .. '_spent', whole(spending.spent),
      period .. '_known', spending.known and '1' or '0',
      period .. '_alerted', spending.alerted and '1' or '0')
  elseif forgets then
    redis.call('HDEL', account.key, period)
  end
end

local function write_level(account, name, is_limited, forgets)
  if is_limited then
    redis.call('HSET', account.key, name, whole(account[name]))
  elseif forgets then
    redis.call('HDEL', account.key, name)
  end
end

local function write(account, forgets)
  redis.call('HSET', account.key, 'born', whole(account.born), 'at', whole(now))
  write_level(account, 'requests', account.limits[1] >= 0, forgets)
  write_level(account, 'tokens', account.limits[2] >= 0, forgets)
  write_spending(account, 'day', account.has_day, forgets)
  write_spending(account, 'month', account.has_month, forgets)
  redis.call('PEXPIRE', account.key, KEEP_MS)
end

-- 1 where a budget has just passed its mark, once per period.
local function alert(spending, is_limited, mark)
  if is_limited and not spending.alerted and spending.spent >= mark then
    spending.alerted = true
    return 1
  end
  return 0
end

-- What an account looks like to the gateway: ten numbers, in the order of scripts.py.
local function told(account)
  local day, month = account.day, account.month
  return {
    account.born, account.requests, account.tokens, account.running, day.spent, month.spent,
    (day.known or not account.has_day) and 1 or 0, (month.known or not account.has_month) and 1 or 0,
    alert(day, account.has_day, account.limits[6]), alert(month, account.has_month, account.limits[7]),
  }
end

local function append(list, more)
  for _, each in ipairs(more) do list[#list + 1] = each end
end
