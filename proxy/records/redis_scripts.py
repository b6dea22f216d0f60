"""
The scripts that run inside Redis.

Layout: ``d:DIGEST`` a hash of record key to body; ``k:KEY`` the digest of a record; ``created`` and ``used`` sorted
sets of record keys by time; ``sizes`` a hash of record key to bytes, and ``bytes`` their sum. Facts are ``f:NAME``,
leases ``l:KEY``. All begin with ``concertina:``.
"""

from __future__ import annotations

PREFIX = "concertina:"
FACT = PREFIX + "f:"
LEASE = PREFIX + "l:"

_NAMES = f"local p = '{PREFIX}'\n"

_DROP = """
local function drop(key)
  local digest = redis.call('GET', p .. 'k:' .. key)
  if digest then redis.call('HDEL', p .. 'd:' .. digest, key) end
  redis.call('DEL', p .. 'k:' .. key)
  redis.call('ZREM', p .. 'created', key)
  redis.call('ZREM', p .. 'used', key)
  local size = redis.call('HGET', p .. 'sizes', key)
  if size then
    redis.call('HDEL', p .. 'sizes', key)
    redis.call('DECRBY', p .. 'bytes', size)
  end
end
"""

_USE = """
local function use(key, ttl, now)
  redis.pcall('PEXPIRE', p .. 'k:' .. key, ttl)
  redis.pcall('ZADD', p .. 'used', 'XX', now, key)
end
"""

# Only what is found is answered, each body after the number of its digest: a reader in Python pays for each element.
# The calls that renew are allowed to fail, so that a read-only replica still answers; a time to live of 0 renews nothing.
FIND = (
    _NAMES
    + _USE
    + """
local found, renews = {}, ARGV[1] ~= '0'
for i, digest in ipairs(KEYS) do
  local flat = redis.call('HGETALL', p .. 'd:' .. digest)
  if renews and #flat > 0 then redis.pcall('PEXPIRE', p .. 'd:' .. digest, ARGV[1]) end
  for j = 1, #flat, 2 do
    if renews then use(flat[j], ARGV[1], ARGV[2]) end
    found[#found + 1] = i - 1
    found[#found + 1] = flat[j + 1]
  end
end
return found
"""
)

GET = (
    _NAMES
    + """
local found = {}
for _, key in ipairs(KEYS) do
  local digest = redis.call('GET', p .. 'k:' .. key)
  local body = digest and redis.call('HGET', p .. 'd:' .. digest, key)
  if body then found[#found + 1] = body end
end
return found
"""
)

PUT = (
    _NAMES
    + _USE
    + """
local key, digest, body, ttl, created, now = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local known = redis.call('GET', p .. 'k:' .. key)
local stored = known and redis.call('HGET', p .. 'd:' .. known, key)
if stored then
  redis.call('PEXPIRE', p .. 'd:' .. known, ttl)
  use(key, ttl, now)
  return stored
end
redis.call('HSET', p .. 'd:' .. digest, key, body)
redis.call('PEXPIRE', p .. 'd:' .. digest, ttl)
redis.call('SET', p .. 'k:' .. key, digest, 'PX', ttl)
redis.call('ZADD', p .. 'created', created, key)
redis.call('ZADD', p .. 'used', now, key)
local before = redis.call('HGET', p .. 'sizes', key) or 0
redis.call('HSET', p .. 'sizes', key, #body)
redis.call('INCRBY', p .. 'bytes', #body - before)
return body
"""
)

DELETE = _NAMES + _DROP + "drop(KEYS[1])\n"

RECENT = (
    _NAMES
    + """
local found, at, limit = {}, 0, tonumber(ARGV[1])
while #found < limit do
  local keys = redis.call('ZREVRANGE', p .. 'created', at, at + 99)
  if #keys == 0 then break end
  for _, key in ipairs(keys) do
    local digest = redis.call('GET', p .. 'k:' .. key)
    local body = digest and redis.call('HGET', p .. 'd:' .. digest, key)
    if body and #found < limit then found[#found + 1] = body end
  end
  at = at + 100
end
return found
"""
)

SWEEP = (
    _NAMES
    + _DROP
    + """
local gone = redis.call('ZRANGEBYSCORE', p .. 'used', '-inf', ARGV[1], 'LIMIT', 0, 200)
for _, key in ipairs(gone) do drop(key) end
if #gone > 0 then return #gone end
local removed = 0
while removed < 200 and tonumber(redis.call('GET', p .. 'bytes') or 0) > tonumber(ARGV[2]) do
  local oldest = redis.call('ZRANGE', p .. 'used', 0, 0)
  if #oldest == 0 then
    redis.call('DEL', p .. 'bytes', p .. 'sizes')
    break
  end
  drop(oldest[1])
  removed = removed + 1
end
return removed
"""
)

PUT_FACT_ONCE = """
local known = redis.call('GET', KEYS[1])
if known then return known end
if ARGV[2] == '0' then redis.call('SET', KEYS[1], ARGV[1]) else redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return ARGV[1]
"""

RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end\n"

RENEW = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
