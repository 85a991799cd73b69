-- How rungs are found or made, woken and put to rest; and the lanes' ready times by level, which pollers see.

-- The rungs of these (lane, queue, level, priority, order group), made where they are new.
create or replace function ensure_rungs(p_lane bigint[], p_queue bigint[], p_level int[], p_priority int[],
                                        p_order_group int[])
returns bigint[] language plpgsql as $$
declare
  v_found bigint[];
begin
  for turn in 1..2 loop
    -- A subquery, not a join: a join was planned as a scan of all rungs while there were few.
    select array_agg((select r.id from rung r
                       where r.lane_id = x.lane and r.queue_id = x.queue and r.order_group = x.order_group
                         and r.step = case when x.order_group > 0 then 0 else x.level end
                         and r.priority = x.priority) order by x.n)
      into v_found
      from unnest(p_lane, p_queue, p_level, p_priority, p_order_group) with ordinality
        as x(lane, queue, level, priority, order_group, n);
    if array_position(v_found, null) is null then
      return v_found;
    end if;
    -- A new rung is under its queue's block; who changes that waits, or we do.
    perform from queue where id = any (p_queue) order by id for share;
    perform check_queues(p_queue);
    if exists (select from unnest(p_lane, p_queue) x(lane, queue)
                where not exists (select from queue_lane ql where ql.queue_id = x.queue and ql.lane_id = x.lane)) then
      raise exception 'a queue has moved to another lane' using errcode = 'PR002';
    end if;
    insert into rung (lane_id, queue_id, level, priority, order_group, blocked_until)
    select x.lane, x.queue, x.level, x.priority, x.order_group,
           case when x.level < 0 then never()
                else (select case when q.paused_at > 0 then never() else q.block_until end
                        from queue q where q.id = x.queue) end
      from unnest(p_lane, p_queue, p_level, p_priority, p_order_group) with ordinality
        as x(lane, queue, level, priority, order_group, n)
     where v_found[x.n] is null
     order by 1, 2, 5, 3, 4
    on conflict do nothing;
  end loop;
  raise exception 'a rung was made and is not there';
end $$;

-- Write the blocks of these queues to their rungs: ready at the end of the block or when the first message is
-- due, whichever is later. The caller has all lanes of the queues exclusively.
create or replace function apply_blocks(p_queues bigint[]) returns void language plpgsql as $$
begin
  perform from rung where queue_id = any (p_queues) and held = '' and level >= 0
    order by id for no key update;
  update rung r
     set blocked_until = g.gate,
         ready_at = greatest(g.gate, coalesce((select m.due from message m where m.rung_id = r.id
                                                order by m.place, m.id limit 1), never()))
    from (select q.id, case when q.paused_at > 0 then never() else q.block_until end as gate
            from queue q where q.id = any (p_queues) offset 0) g
   where r.queue_id = any (p_queues) and r.queue_id = g.id and r.held = '' and r.level >= 0;
end $$;

-- Lower the ready times of rungs that got messages, then tell the owners of their lanes, or the pollers. Rungs
-- and lanes that are awake already are not written. In a free lane with an open circuit a new message
-- brings the next probe forward, even where other messages wait already. The caller shares the lanes.
create or replace function wake_rungs(p_lane bigint[], p_rung bigint[], p_due bigint[]) returns jsonb
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
             and (r.order_group = 0 or r.ready_at = never())  -- else its head decides
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
    -- Together: lower_levels writes in order, whoever else does.
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
    v_rings := lower_levels(v_lane, v_level, v_at);
  end if;
  return v_rings || (
    select coalesce(jsonb_agg(jsonb_build_array(l.owner, x.lane, x.rung, r.level,
                                                greatest(x.due, r.blocked_until), 0)), '[]')
      from unnest(p_lane, p_rung, p_due) x(lane, rung, due)
     cross join lateral (select coalesce(owner, 0) as owner from lane  -- 0: those who read a feed
                          where id = x.lane and (owner is not null or pool = 'feed') limit 1) l
     cross join lateral (select level, blocked_until from rung
                          where id = x.rung and blocked_until < never() limit 1) r);
end $$;

-- Lower the ready times of those of these lanes that nobody owns, and tell the pollers. A lane with an open
-- circuit is ready at its early probe. The caller keeps the lanes from being claimed and freed.
create or replace function lower_levels(p_lane bigint[], p_level int[], p_at bigint[]) returns jsonb
language plpgsql set enable_nestloop = off as $$
declare
  v_rings jsonb;
begin
  with lowered as (
    insert into lane_level (lane_id, level, pool, tenant, ready_at)
    select x.lane, x.level, l.pool, l.tenant,
           greatest(x.at, least(l.circuit_early, l.circuit_until), l.wanted_until, now_ms())
      from unnest(p_lane, p_level, p_at) x(lane, level, at)
     cross join lateral (select pool, tenant, circuit_early, circuit_until, wanted_until from lane
                          where id = x.lane and owner is null and paused_at = 0 limit 1) l
     where x.at < never() order by 1, 2
    on conflict (lane_id, level) do update set ready_at = excluded.ready_at
     where lane_level.ready_at > excluded.ready_at
    returning lane_level.level, lane_level.ready_at),
  soonest as (select level, min(ready_at) as at from lowered group by 1)
  select jsonb_agg(jsonb_build_array(null, 0, 0, level, at, 0)) into v_rings from soonest;
  return ring(v_rings);
end $$;

-- Set order groups to their present heads: level, ready time, and the reason if the head holds its order group.
-- The caller has locked the lanes, so their owners do not change; `p_known` is an owner that needs no ring.
-- Positions are given under the lock on the rung, so none is being given meanwhile.
create or replace function refresh_heads(p_rungs bigint[], p_known bigint) returns jsonb
language plpgsql set enable_nestloop = off as $$
declare
  v_now bigint := now_ms();
  v_order_groups bigint[];
  v_lane bigint[];
  v_level int[];
  v_at bigint[];
  v_rings jsonb;
begin
  select array_agg(x.id) into v_order_groups
    from (select id from rung where id = any (p_rungs) and order_group > 0 order by id for no key update) x;
  if v_order_groups is null then
    return '[]';
  end if;
  with head as materialized (
    select r.id, h.message, h.level, h.due,
           case when h.due = never() then never()
                else (select case when q.paused_at > 0 then never() else q.block_until end
                        from queue q where q.id = r.queue_id) end as gate
      from rung r
      left join lateral (select m.id as message, m.level, m.due from message m
                          where m.rung_id = r.id order by m.place, m.id limit 1) h on true
     where r.id = any (v_order_groups)),
  goal as materialized (
    select id, coalesce(level, 0) as level, gate, greatest(gate, coalesce(due, never())) as ready_at,
           case when due = never()
                then 'exhausted: ' || coalesce((select a.error from attempt a where a.message_id = message
                                                 order by a.number desc limit 1), '')
                else '' end as held
      from head),
  changed as (
    update rung r
       set level = g.level, blocked_until = g.gate, held = g.held, ready_at = g.ready_at
      from goal g
     where r.id = any (v_order_groups) and r.id = g.id
       and (r.level <> g.level or r.blocked_until <> g.gate or r.held <> g.held
            or r.ready_at > g.ready_at or (g.ready_at > v_now and r.ready_at <> g.ready_at))
    returning r.id, r.lane_id, r.level, r.ready_at),
  told as materialized (
    select c.*, (select l.owner from lane l where l.id = c.lane_id) as owner from changed c
     where c.ready_at < never())
  select coalesce(jsonb_agg(jsonb_build_array(owner, lane_id, id, level, ready_at, 0))
                  filter (where owner <> p_known), '[]'),
         array_agg(lane_id) filter (where owner is null),
         array_agg(least(level, 6)) filter (where owner is null),
         array_agg(ready_at) filter (where owner is null)
    into v_rings, v_lane, v_level, v_at from told;
  if v_lane is null then
    return v_rings;
  end if;
  -- Several order groups of one lane may be told: each row can be lowered once in a statement.
  select array_agg(x.lane), array_agg(x.level), array_agg(x.at) into v_lane, v_level, v_at from (
    select lane, level, min(at) as at from unnest(v_lane, v_level, v_at) y(lane, level, at)
     group by 1, 2) x;
  return v_rings || lower_levels(v_lane, v_level, v_at);
end $$;

-- Let free lanes be claimed, at each level when their rungs and circuits allow it. The poller of level 6
-- serves all higher levels. The caller has the lanes exclusively.
create or replace function open_lanes(p_lanes bigint[]) returns jsonb language plpgsql as $$
declare
  v_rings jsonb;
begin
  update lane_level set ready_at = never() where lane_id = any (p_lanes) and ready_at <> never();
  with goal as materialized (
    select l.id, v.level, l.pool, l.tenant,
           greatest(v.at, case when l.paused_at > 0 then never() else greatest(l.circuit_until, l.wanted_until) end) as at
      from lane l
     cross join lateral (select least(r.level, 6) as level, min(r.ready_at) as at from rung r
                          where r.lane_id = l.id and r.level >= 0 and r.ready_at < never()
                          group by 1) v
     where l.id = any (p_lanes)),
  opened as (
    insert into lane_level (lane_id, level, pool, tenant, ready_at)
    select id, level, pool, tenant, greatest(at, now_ms()) from goal
    on conflict (lane_id, level) do update set ready_at = excluded.ready_at),
  soonest as (select level, min(at) as at from goal where at < never() group by 1)
  select jsonb_agg(jsonb_build_array(null, 0, 0, level, at, 0)) into v_rings from soonest;
  return ring(v_rings);
end $$;

-- Tell the owners of these lanes to look at their rungs again; those that nobody owns can be claimed.
create or replace function touch_lanes(p_lanes bigint[]) returns jsonb language plpgsql as $$
declare
  v_free bigint[];
  v_rings jsonb;
begin
  select coalesce(array_agg(id) filter (where owner is null), '{}'),
         coalesce(jsonb_agg(jsonb_build_array(owner, id, 0, 0, 0, 0)) filter (where owner is not null), '[]')
    into v_free, v_rings
    from lane where id = any (p_lanes);
  return v_rings || open_lanes(v_free);
end $$;

-- Notify all processes of rings, if there are any; returns them. A ring is [owner, lane, rung, level, at,
-- recalled message]. A ring without an owner is for all pollers.
create or replace function ring(p_rings jsonb) returns jsonb language plpgsql as $$
begin
  if p_rings is null then
    return '[]';
  end if;
  perform pg_notify('postroad', jsonb_build_object('rings', p_rings)::text);
  return p_rings;
end $$;
