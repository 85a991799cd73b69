-- Figures of the road, in buckets.

-- name: rollup_add
-- Add counts to a bucket.
insert into rollup (step, at, tenant, family, queue,
  delivered, failed, rejected, quota, unreachable, unknown, later, setup, dead, late0, late1, late2, late3,
  late4, late5, late6, late7, late8, late9, late10, late11, late12, late13, late14, late15, late16,
  late17, late18, late19, late20, late21, late22, late23)
values (?1, ?2, ?3, ?4, ?5,
  ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26,
  ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38)
on conflict do update set
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
  sum(delivered), sum(failed), sum(rejected), sum(quota), sum(unreachable), sum(unknown), sum(later),
  sum(setup), sum(dead), sum(late0), sum(late1), sum(late2), sum(late3), sum(late4), sum(late5), sum(late6),
  sum(late7), sum(late8), sum(late9), sum(late10), sum(late11), sum(late12), sum(late13), sum(late14),
  sum(late15), sum(late16), sum(late17), sum(late18), sum(late19), sum(late20), sum(late21),
  sum(late22), sum(late23)
  from rollup
 where step = ?1 and at >= ?2 and at < ?3 and (?4 is null or tenant = ?4)
 group by at order by at

-- name: rollups
-- Read buckets, by family, tenant or queue; all but the busiest names are one.
with picked as (
  select r.*, case ?1 when 'family' then r.family when 'tenant' then r.tenant else r.queue end as name
    from rollup r
   where r.step = ?3 and r.at >= ?4 and r.at < ?5 and (?6 is null or r.tenant = ?6)),
busiest as (
  select name from picked group by name
   order by sum(delivered + failed + rejected + quota + unreachable + unknown + later + setup) desc, name limit ?2)
select at, case when name in (select name from busiest) then name else 'other' end,
  sum(delivered), sum(failed), sum(rejected), sum(quota), sum(unreachable), sum(unknown), sum(later),
  sum(setup), sum(dead), sum(late0), sum(late1), sum(late2), sum(late3), sum(late4), sum(late5), sum(late6),
  sum(late7), sum(late8), sum(late9), sum(late10), sum(late11), sum(late12), sum(late13), sum(late14),
  sum(late15), sum(late16), sum(late17), sum(late18), sum(late19), sum(late20), sum(late21),
  sum(late22), sum(late23)
  from picked group by 1, 2 order by 1, 2

-- name: rollups_retain
-- Delete a slice of the buckets of a step that are older than a time.
delete from rollup where (step, at, tenant, family, queue) in (
  select step, at, tenant, family, queue from rollup where step = ?1 and at < ?2 limit ?3)

-- name: workers
-- List all processes, with how many lanes each owns.
select p.id, p.host, p.pid, p.version, p.started_at, p.beat_at, p.reaped,
       (select count(*) from lane l where l.owner = p.id)
  from process p order by p.id

-- name: erase_rollup
-- Delete a slice of the figures of a tenant, or of one of its queues.
delete from rollup where (step, at, tenant, family, queue) in (
  select step, at, tenant, family, queue from rollup
   where tenant = ?1 and (?2 = '' or queue = ?2) limit ?3)
