-- From when on new traffic may have a probe of a lane whose circuit is open.
alter table lane add column circuit_early bigint not null default 4611686018427387904;

-- As 003, but what becomes ready in a lane whose circuit is open may have an early probe.
create or replace function lower_v1(p_lane bigint[], p_level int[], p_at bigint[]) returns jsonb
language plpgsql set enable_nestloop = off as $$
declare
  v_rings jsonb;
begin
  with lowered as (
    insert into lane_level (lane_id, level, pool, ready_at)
    select x.lane, x.level, l.pool, greatest(x.at, least(l.circuit_early, l.circuit_until), now_ms())
      from unnest(p_lane, p_level, p_at) x(lane, level, at)
     cross join lateral (select pool, circuit_early, circuit_until from lane
                          where id = x.lane and owner is null and paused_at = 0 limit 1) l
     where x.at < never() order by 1, 2
    on conflict (lane_id, level) do update set ready_at = excluded.ready_at
     where lane_level.ready_at > excluded.ready_at
    returning lane_level.level, lane_level.ready_at),
  soonest as (select level, min(ready_at) as at from lowered group by 1)
  select jsonb_agg(jsonb_build_array(null, 0, 0, level, at, 0)) into v_rings from soonest;
  if v_rings is null then
    return '[]';
  end if;
  perform notify_v1(v_rings);
  return v_rings;
end $$;

-- As 003, but what comes for a lane that nobody owns and whose circuit is open makes its next probe come
-- early, also where other messages wait already.
create or replace function wake_v1(p_lane bigint[], p_rung bigint[], p_due bigint[]) returns jsonb
language plpgsql set enable_nestloop = off as $$
declare
  v_asleep bigint[];
  v_lane bigint[];
  v_level int[];
  v_at bigint[];
  v_rings jsonb := '[]';
begin
  select array_agg(x.rung) into v_asleep from unnest(p_rung, p_due) x(rung, due)
   where (select r.ready_at > greatest(x.due, r.blocked_until)
             and (r.slot = 0 or r.ready_at = never())  -- else its head decides
            from rung r where r.id = x.rung);
  if v_asleep is not null then
    perform from rung where id = any (v_asleep) order by id for no key update;
    with woken as (
      update rung r set ready_at = greatest(x.due, r.blocked_until)
        from unnest(p_rung, p_due) x(rung, due)
       where r.id = any (v_asleep) and r.id = x.rung and r.ready_at > greatest(x.due, r.blocked_until)
      returning r.lane_id, least(r.level, 6) as level, r.ready_at),
    soonest as (select lane_id, level, min(ready_at) as at from woken group by 1, 2)
    select array_agg(lane_id), array_agg(level), array_agg(at) into v_lane, v_level, v_at from soonest;
  end if;
  -- Mostly no circuit is open at all, which an index that is empty then tells; or only those of others.
  if exists (select from lane where circuit_opened > 0 and owner is null limit 1)
     and exists (select from lane where id = any (p_lane) and circuit_opened > 0 and owner is null) then
    -- Together: lower_v1 writes in order, whoever else does.
    with came as (
      select x.lane, least(r.level, 6) as level, r.ready_at as at
        from unnest(p_lane, p_rung) x(lane, rung)
       cross join lateral (select id from lane
                            where id = x.lane and circuit_opened > 0 and owner is null limit 1) l
       cross join lateral (select level, ready_at from rung
                            where id = x.rung and level >= 0 limit 1) r
      union all
      select * from unnest(v_lane, v_level, v_at)),
    soonest as (select lane, level, min(at) as at from came group by 1, 2)
    select array_agg(lane), array_agg(level), array_agg(at) into v_lane, v_level, v_at from soonest;
  end if;
  if v_lane is not null then
    v_rings := lower_v1(v_lane, v_level, v_at);
  end if;
  return v_rings || (
    select coalesce(jsonb_agg(jsonb_build_array(l.owner, x.lane, x.rung, r.level,
                                                greatest(x.due, r.blocked_until), 0)), '[]')
      from unnest(p_lane, p_rung, p_due) x(lane, rung, due)
     cross join lateral (select owner from lane
                          where id = x.lane and owner is not null limit 1) l
     cross join lateral (select level, blocked_until from rung
                          where id = x.rung and blocked_until < never() limit 1) r);
end $$;

-- As 007, and with the time of early probes.
create or replace function change_v1(p_lane bigint[], p_held boolean[], p_changed bigint[], p_queues json, p_lanes json)
returns jsonb language plpgsql as $$
declare
  v_touched bigint[];
begin
  update lane l
     set circuit_strikes = x.strikes, circuit_opened = x.opened, circuit_until = x.until,
         circuit_since = x.since, circuit_reason = x.reason, crashes = x.crashes,
         circuit_early = coalesce(x.early, never())
    from json_to_recordset(p_lanes) as x(pair int, strikes int, opened int, until bigint, since bigint,
                                         reason text, crashes int, early bigint)
   where l.id = any (p_lane) and l.id = p_lane[x.pair] and p_held[x.pair];
  update queue q
     set block_kind = x.kind, block_until = x.until, block_reason = x.reason, block_streak = x.streak,
         block_since = x.since
    from json_to_recordset(p_queues) as x(pair int, queue bigint, kind text, until bigint, reason text,
                                          streak int, since bigint)
   where q.id = any (p_changed) and q.id = x.queue and p_held[x.pair];
  with lifted as (
    update queue q
       set block_kind = '', block_until = 0, block_reason = '', block_streak = 0, block_since = 0
      from json_to_recordset(p_lanes) as x(pair int, opened int), queue_lane ql
     where q.id = any (p_changed) and q.block_kind = 'unreachable' and x.opened = 0 and p_held[x.pair]
       and ql.queue_id = q.id and ql.lane_id = p_lane[x.pair]
    returning q.id, ql.lane_id),
  changed as (
    select id, lane_id from lifted
    union all
    select x.queue, p_lane[x.pair] from json_to_recordset(p_queues) as x(pair int, queue bigint)
     where p_held[x.pair])
  select array(select ql.lane_id from changed c
                 join queue_lane ql on ql.queue_id = c.id and ql.lane_id <> c.lane_id)
    into v_touched;
  perform gate_v1(p_changed);
  return touch_v1(v_touched);
end $$;
