-- Keeps the places of requests that still run.
-- KEYS: leases of one payer. ARGV: lease_ms, then tokens.
local lease_ms = tonumber(ARGV[1])
for at = 2, #ARGV do redis.call('ZADD', KEYS[1], whole(now + lease_ms), ARGV[at]) end
redis.call('PEXPIRE', KEYS[1], 2 * lease_ms)
return #ARGV - 1
