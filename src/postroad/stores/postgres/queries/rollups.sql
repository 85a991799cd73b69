-- Figures of the whole fleet, in buckets.

-- name: rollup_add
-- Add counts to their buckets, in order of key: two processes that add to the same ones do not deadlock.
insert into postroad.rollup
select * from json_populate_recordset(null::postroad.rollup, $1)
 order by step, at, tenant, family, queue
on conflict (step, at, tenant, family, queue) do update set
  delivered = rollup.delivered + excluded.delivered, failed = rollup.failed + excluded.failed,
  rejected = rollup.rejected + excluded.rejected, quota = rollup.quota + excluded.quota,
  unreachable = rollup.unreachable + excluded.unreachable, unknown = rollup.unknown + excluded.unknown,
  later = rollup.later + excluded.later, setup = rollup.setup + excluded.setup,
  dead = rollup.dead + excluded.dead, late0 = rollup.late0 + excluded.late0,
  late1 = rollup.late1 + excluded.late1, late2 = rollup.late2 + excluded.late2,
  late3 = rollup.late3 + excluded.late3, late4 = rollup.late4 + excluded.late4,
  late5 = rollup.late5 + excluded.late5, late6 = rollup.late6 + excluded.late6,
  late7 = rollup.late7 + excluded.late7, late8 = rollup.late8 + excluded.late8,
  late9 = rollup.late9 + excluded.late9, late10 = rollup.late10 + excluded.late10,
  late11 = rollup.late11 + excluded.late11, late12 = rollup.late12 + excluded.late12,
  late13 = rollup.late13 + excluded.late13, late14 = rollup.late14 + excluded.late14,
  late15 = rollup.late15 + excluded.late15, late16 = rollup.late16 + excluded.late16,
  late17 = rollup.late17 + excluded.late17, late18 = rollup.late18 + excluded.late18,
  late19 = rollup.late19 + excluded.late19, late20 = rollup.late20 + excluded.late20,
  late21 = rollup.late21 + excluded.late21, late22 = rollup.late22 + excluded.late22,
  late23 = rollup.late23 + excluded.late23

-- name: rollups_whole
-- Read buckets, each summed up without any name: they are met in the order of the key.
select at, '',
  sum(delivered)::bigint, sum(failed)::bigint, sum(rejected)::bigint, sum(quota)::bigint,
  sum(unreachable)::bigint, sum(unknown)::bigint, sum(later)::bigint, sum(setup)::bigint, sum(dead)::bigint,
  sum(late0)::bigint, sum(late1)::bigint, sum(late2)::bigint, sum(late3)::bigint, sum(late4)::bigint,
  sum(late5)::bigint, sum(late6)::bigint, sum(late7)::bigint, sum(late8)::bigint, sum(late9)::bigint,
  sum(late10)::bigint, sum(late11)::bigint, sum(late12)::bigint, sum(late13)::bigint,
  sum(late14)::bigint, sum(late15)::bigint, sum(late16)::bigint, sum(late17)::bigint,
  sum(late18)::bigint, sum(late19)::bigint, sum(late20)::bigint, sum(late21)::bigint,
  sum(late22)::bigint, sum(late23)::bigint
  from postroad.rollup
 where step = $1::int and at >= $2 and at < $3 and ($4::text is null or tenant = $4)
 group by at order by at

-- name: rollups
-- Read buckets, by family, tenant or queue; all but the busiest names are one.
with picked as (
  select r.*, case $1::text when 'family' then r.family when 'tenant' then r.tenant else r.queue end as name
    from postroad.rollup r
   where r.step = $3::int and r.at >= $4 and r.at < $5 and ($6::text is null or r.tenant = $6)),
busiest as (
  select name from picked group by name
   order by sum(delivered + failed + rejected + quota + unreachable + unknown + later + setup) desc, name limit $2)
select at, case when name in (select name from busiest) then name else 'other' end,
  sum(delivered)::bigint, sum(failed)::bigint, sum(rejected)::bigint, sum(quota)::bigint,
  sum(unreachable)::bigint, sum(unknown)::bigint, sum(later)::bigint, sum(setup)::bigint, sum(dead)::bigint,
  sum(late0)::bigint, sum(late1)::bigint, sum(late2)::bigint, sum(late3)::bigint, sum(late4)::bigint,
  sum(late5)::bigint, sum(late6)::bigint, sum(late7)::bigint, sum(late8)::bigint, sum(late9)::bigint,
  sum(late10)::bigint, sum(late11)::bigint, sum(late12)::bigint, sum(late13)::bigint,
  sum(late14)::bigint, sum(late15)::bigint, sum(late16)::bigint, sum(late17)::bigint,
  sum(late18)::bigint, sum(late19)::bigint, sum(late20)::bigint, sum(late21)::bigint,
  sum(late22)::bigint, sum(late23)::bigint
  from picked group by 1, 2 order by 1, 2

-- name: heard_from
-- Note that a worker on a broker is alive. The lanes that it serves are in the broker, not here.
update postroad.process
   set beat_at = postroad.now_ms(), asked_at = postroad.now_ms(), lanes = $2, pools = '{rabbitmq}'
 where id = $1

-- name: workers
-- List the processes that ask for lanes: how long each has been silent, and whether its lanes were taken away
-- since it last asked for some.
select p.id, p.host, p.pid, p.version, p.started_at, p.owning, p.lanes, greatest(p.beat_at, p.asked_at) as heard_at,
       postroad.now_ms() - greatest(p.beat_at, p.asked_at) as silent_ms, p.asked_at = 0 as reaped
  from postroad.process p where p.pools <> '{}' order by p.id

-- name: erase_rollup
-- Delete a slice of the figures of a tenant, or of one of its queues.
delete from postroad.rollup where ctid = any (array(
  select ctid from postroad.rollup where tenant = $1 and ($2::text = '' or queue = $2) limit $3))
