-- What a lane with one message costs: a claim without JSON for each rung, rows that leave fewer index
-- entries behind.

-- What is ready "never" is in no index of ready times: to lay a lane or a rung to rest writes no entry.
-- Who walks these indexes says `< never()`, or they cannot be used; who comes by lane or place says
-- `<> never()`: a statement that might use them did so, and walked over all that was ready, once ANALYZE
-- had seen everything at rest.
drop index lane_level_ready;
create index lane_level_ready on lane_level (pool, level, ready_at, lane_id) where ready_at < 4611686018427387904;
drop index rung_ready;
create index rung_ready on rung (lane_id, ready_at) where ready_at < 4611686018427387904;

-- Which lanes are ready at these levels and from when on, where their rows lie, and when the next one
-- of each level is. Of each level only what is ready at its floor or later is walked (005).
create function ready_v1(p_levels int[], p_floors bigint[], p_pools text[], p_limit int, p_now bigint,
                         out hits int, out lane bigint[], out at bigint[], out place tid[], out next jsonb)
language plpgsql as $$
begin
  with ready as materialized (
    select x.* from unnest(p_levels, p_floors) v(level, floor)
     cross join unnest(p_pools) p(pool)
     cross join lateral (select t.lane_id, t.ready_at, t.ctid as row from lane_level t
                          where t.pool = p.pool and t.level = v.level
                            and t.ready_at >= v.floor and t.ready_at <= p_now and t.ready_at < never()
                          order by t.ready_at, t.lane_id limit p_limit) x),
  ranked as (select r.*, min(ready_at) over (partition by lane_id) as soonest from ready r)
  select count(*), array_agg(lane_id), array_agg(soonest), array_agg(row)
    into hits, lane, at, place from ranked;
  select jsonb_object_agg(v.level, coalesce(
           (select min(n.at) from unnest(p_pools) p(pool)
             cross join lateral (select t.ready_at as at from lane_level t
                                  where t.pool = p.pool and t.level = v.level
                                    and t.ready_at > p_now and t.ready_at < never()
                                  order by t.ready_at limit 1) n), never()))
    into next from unnest(p_levels) v(level);
end $$;

-- Own those of the lanes found that are this process's to take; what is ready for less than a second
-- is left to others where it has its share. The answer is that of a claim.
create function own_v1(p_owner bigint, p_reaped int, p_mine int, p_host text, p_pid int, p_levels int[],
                       p_floors bigint[], p_pools text[], p_limit int, out answer jsonb, out lanes json,
                       out taken bigint[])
language plpgsql as $$
declare
  v_now bigint := now_ms();
  v_ready record;
  v_share record;
  v_next jsonb;
  v_left bigint;
  v_floor bigint;
  v_rows tid[];
begin
  select * into v_ready from ready_v1(p_levels, p_floors, p_pools, p_limit, v_now);
  select * into v_share
    from share_v1(p_owner, p_reaped, p_mine, p_host, p_pid, p_pools, v_now, v_ready.hits);
  v_next := v_ready.next;
  if v_ready.hits > 0 then
    with ranked as (
      select x.at, x.row, dense_rank() over (order by x.at, x.lane) as n
        from unnest(v_ready.lane, v_ready.at, v_ready.place) x(lane, at, row)),
    fate as (select r.*, r.n <= p_limit as near,
                    r.n <= v_share.share - p_mine or r.at <= v_now - 1000 as ours from ranked r)
    select min(f.at) filter (where near and not ours), max(f.at) filter (where near),
           coalesce(array_agg(f.row) filter (where near and ours), '{}')
      into v_left, v_floor, v_rows from fate f;
    select t.lanes, t.taken into lanes, taken from take_v2(p_owner, v_rows, p_levels) t;
    if taken is not null then
      perform count_v1(p_owner, p_mine + cardinality(taken));
    end if;
    if v_left is not null then
      v_next := (select jsonb_object_agg(key, least(value::bigint, v_left + 1000))
                   from jsonb_each_text(v_next));
    end if;
  end if;
  answer := jsonb_build_object(
    'next', v_next, 'full', v_ready.hits >= p_limit and v_left is null,
    'floor', case when v_left is not null then v_left
                  when v_ready.hits < p_limit then v_now
                  else v_floor end,
    'surplus', v_share.surplus,
    'owned', exists (select from process where owning),
    'arrivals', exists (select from arrival));
end $$;

-- As take_v1 (005), but a lane that was never in trouble comes without its circuit.
create function take_v2(p_owner bigint, p_rows tid[], p_levels int[], out lanes json, out taken bigint[])
language plpgsql set enable_bitmapscan = off as $$
declare
  v_hidden bigint[];
begin
  v_hidden := hide_v1(p_rows, p_levels);
  -- By the index, in order of id: as everybody locks lanes.
  with mine as (
    update lane set owner = p_owner, epoch = epoch + 1 where id = any (v_hidden) and owner is null
    returning *)
  select json_agg(case
           when circuit_strikes = 0 and circuit_since = 0 and crashes = 0 and paused_at = 0
           then json_build_array(id, transport, server, credential, shard, tenant, epoch)
           else json_build_array(
             id, transport, server, credential, shard, tenant, epoch, circuit_strikes, circuit_opened,
             circuit_until, circuit_since, circuit_reason, crashes, paused_at) end order by id),
         array_agg(id order by id)
    into lanes, taken from mine;
end $$;

-- The lanes of these lane_level rows, if the rows are still as they were seen, are ready nowhere any
-- more; the caller has them alone from here on.
create function hide_v1(p_rows tid[], p_levels int[]) returns bigint[]
language plpgsql set enable_bitmapscan = off as $$
declare
  v_low int := (select min(l) from unnest(p_levels) l);
  v_high int := (select max(l) from unnest(p_levels) l);
  v_seen bigint[] := array(select lane_id from lane_level where ctid = any (p_rows));
  v_hidden bigint[];
begin
  perform lock_alone_v1(v_seen);
  with hidden as (
    update lane_level set ready_at = never()
     where ctid = any (p_rows) and lane_id = any (v_seen) and ready_at <> never()
    returning lane_id)
  select array_agg(distinct lane_id order by lane_id) into v_hidden from hidden;
  if v_low < v_high then
    update lane_level set ready_at = never() where lane_id = any (v_hidden) and ready_at <> never();
    return v_hidden;
  end if;
  if v_low > 0 then
    update lane_level set ready_at = never()
     where lane_id = any (v_hidden) and level < v_low and ready_at <> never();
  end if;
  if v_high < 6 then
    update lane_level set ready_at = never()
     where lane_id = any (v_hidden) and level > v_high and ready_at <> never();
  end if;
  return v_hidden;
end $$;

-- As claim_v2 (022), with a row for each rung that is due in the lanes, and a second one where it has
-- a second message; the first row holds the answer. `step`, `priority`, `slot` and `ready` are the
-- rung's; without a message there is no id. Queues whose settings are as usual come without them; the
-- other lanes of a queue do not concern the owner of one.
create function claim_v3(p_owner bigint, p_reaped int, p_mine int, p_host text, p_pid int,
                         p_levels int[], p_floors bigint[], p_pools text[], p_limit int)
returns table (id bigint, rung bigint, queue bigint, lane bigint, level int, attempts int, marks int,
               place bigint, due bigint, accepted_at bigint, expires_at bigint, body bytea,
               headers bytea, want int, step int, priority int, slot int, ready bigint, answer json)
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_own record;
  v_now bigint;
  v_rung rung[];
  v_next bigint[];
  v_queues json;
begin
  select * into v_own from own_v1(p_owner, p_reaped, p_mine, p_host, p_pid, p_levels, p_floors, p_pools,
                                  p_limit);
  v_now := now_ms();
  if v_own.taken is not null then
    select array_agg(r.row order by x.i, r.ready_at, r.id) into v_rung
      from unnest(v_own.taken) with ordinality x(lane, i)
     cross join lateral (select g as row, g.ready_at, g.id from rung g
                          where g.lane_id = x.lane and g.ready_at <= v_now and g.ready_at < never()
                          order by g.ready_at offset 0) r;
    select array_agg(coalesce((select r.ready_at from rung r
                                where r.lane_id = x.lane and r.ready_at > v_now and r.ready_at < never()
                                order by r.ready_at limit 1), never()) order by x.i)
      into v_next from unnest(v_own.taken) with ordinality x(lane, i);
    v_queues := glance_v1(array(select distinct r.queue_id from unnest(v_rung) r));
  end if;
  return query select null::bigint, null::bigint, null::bigint, null::bigint, null::int, null::int,
    null::int, null::bigint, null::bigint, null::bigint, null::bigint, null::bytea, null::bytea,
    null::int, null::int, null::int, null::int, null::bigint,
    json_build_object('now', v_now, 'claim', v_own.answer, 'lanes', coalesce(v_own.lanes, '[]'),
                      'soon', v_next, 'queues', coalesce(v_queues, '[]'));
  return query
  select m.id, r.id, r.queue_id, r.lane_id, m.level, m.attempts, m.marks, m.place, m.due, m.accepted_at,
         m.expires_at, case when m.due <= v_now and octet_length(m.body) <= 8192 then m.body end,
         case when m.due <= v_now then m.headers end, r.n::int, r.level, r.priority, r.slot, r.ready_at,
         null::json
    from unnest(v_rung) with ordinality r(id, lane_id, queue_id, level, priority, slot, step, ready_at,
                                          blocked_until, held, last_place, n)
    left join lateral (select * from message y
                        where y.rung_id = r.id and r.slot = 0 and r.n <= 512
                        order by y.place, y.id limit 2) m on true;
end $$;

create function glance_v1(p_queues bigint[]) returns json language plpgsql as $$
declare
  v_paced boolean := exists (select from pace);  -- most roads limit nothing
begin
  return (
    select json_agg(case
             when not v_paced and q.block_kind = '' and q.paused_at = 0 and q.resumed_at = 0
             then json_build_array(q.id, q.tenant, q.name, q.policy)
             else json_build_array(
               q.id, q.tenant, q.name, q.policy, '{}'::bigint[], q.paused_at > 0, q.resumed_at,
               q.block_kind, q.block_until, q.block_reason, q.block_streak, q.block_since,
               case when v_paced then ledgers_v1(q.id) else '{}' end) end)
      from queue q where q.id = any (p_queues));
end $$;

-- As before (005), but lanes that are given back are locked and freed by one statement: by the index, in
-- order of id. (`is true` keeps it from becoming a join, which might go in another order.)
create or replace function release_v1(p_owner bigint, p_lane bigint[], p_epoch bigint[], p_left int) returns json
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now bigint := now_ms();
  v_mine bigint[];
begin
  perform lock_alone_v1(p_lane);
  with freed as (
    update lane l set owner = null, crashes = 0
     where l.id = any (p_lane) and l.owner = p_owner
       and ((l.id, l.epoch) in (select x.lane, x.epoch from unnest(p_lane, p_epoch) x(lane, epoch))) is true
    returning l.id)
  select array_agg(id) into v_mine from freed;
  perform from rung where lane_id = any (v_mine) and ready_at <= v_now and ready_at < never()
    order by id for no key update;
  update rung r
     set ready_at = greatest(r.blocked_until,
                             coalesce((select m.due from message m where m.rung_id = r.id
                                        order by m.place, m.id limit 1), never()))
   where r.lane_id = any (v_mine) and r.ready_at <= v_now and r.ready_at < never();
  if p_left = 0 then
    perform rest_v1(p_owner);
  else
    perform count_v1(p_owner, p_left);
  end if;
  return json_build_object('now', v_now, 'rings', open_lanes_v1(v_mine));
end $$;

-- As before (006) and (005), but that the indexes are used.
create or replace function look_v1(p_lane bigint[], p_after bigint[], n_of int[], n_rung bigint[], q_queue bigint[])
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now bigint := now_ms();
  v_rungs json;
  v_queues bigint[];
  v_lanes json;
  v_told json;
  v_paced boolean := exists (select from pace);  -- most roads limit nothing
begin
  with row as materialized (
    select x.i, 0 as named, r.* from unnest(p_lane, p_after) with ordinality x(lane, after, i)
     cross join lateral (select * from rung where lane_id = x.lane and ready_at > x.after
                            and ready_at <= v_now and ready_at < never()
                          order by ready_at offset 0) r
    union all
    select n.of, 1, r.* from unnest(n_of, n_rung) n(of, rung)
     cross join lateral (select * from rung where id = n.rung limit 1) r)
  select coalesce(json_agg(json_build_array(r.i, r.id, r.lane_id, r.queue_id, r.level, r.priority, r.slot,
                                            r.ready_at) order by r.named, r.ready_at, r.id), '[]'),
         array_agg(distinct r.queue_id)
    into v_rungs, v_queues from row r;
  select json_agg(json_build_array(
           coalesce((select r.ready_at from rung r where r.lane_id = x.lane and r.ready_at > v_now
                       and r.ready_at < never() order by r.ready_at limit 1), never()),
           l.circuit_strikes, l.circuit_opened, l.circuit_until, l.circuit_since, l.circuit_reason,
           l.paused_at > 0) order by x.i)
    into v_lanes
    from unnest(p_lane) with ordinality x(lane, i)
   cross join lateral (select * from lane where id = x.lane limit 1) l;
  select coalesce(json_agg(json_build_array(
           q.id, q.tenant, q.name, q.policy,
           array(select ql.lane_id from queue_lane ql where ql.queue_id = q.id order by ql.shard),
           q.paused_at > 0, q.resumed_at, q.block_kind, q.block_until, q.block_reason, q.block_streak,
           q.block_since, case when v_paced then ledgers_v1(q.id) else '{}' end)), '[]')
    into v_told from queue q where q.id = any (v_queues || q_queue);
  return json_build_object('now', v_now, 'rungs', v_rungs, 'lanes', v_lanes, 'queues', v_told);
end $$;

create or replace function claim_v1(p_owner bigint, p_reaped int, p_mine int, p_host text, p_pid int,
                         p_levels int[], p_floors bigint[], p_pools text[], p_limit int)
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now bigint := now_ms();
  v_found int;
  v_next jsonb;
  v_lane bigint[];
  v_at bigint[];
  v_row tid[];
  v_share int;
  v_surplus int;
  v_left bigint;
  v_floor bigint;
  v_lanes json := '[]';
  v_taken bigint[];
  v_seen json;
begin
  select r.hits, r.lane, r.at, r.place, r.next into v_found, v_lane, v_at, v_row, v_next
    from ready_v1(p_levels, p_floors, p_pools, p_limit, v_now) r;
  select s.share, s.surplus into v_share, v_surplus
    from share_v1(p_owner, p_reaped, p_mine, p_host, p_pid, p_pools, v_now, v_found) s;
  if v_found > 0 then
    -- What is ready for less than a second is left to others where this one has its share.
    with ranked as (
      select x.at, x.row, dense_rank() over (order by x.at, x.lane) as n
        from unnest(v_lane, v_at, v_row) x(lane, at, row)),
    fate as (select r.*, r.n <= p_limit as near,
                    r.n <= v_share - p_mine or r.at <= v_now - 1000 as ours from ranked r)
    select min(at) filter (where near and not ours), max(at) filter (where near),
           coalesce(array_agg(row) filter (where near and ours), '{}')
      into v_left, v_floor, v_row from fate;
    select coalesce(t.lanes, '[]'), t.taken into v_lanes, v_taken from take_v1(p_owner, v_row, p_levels) t;
    if v_taken is not null then
      perform count_v1(p_owner, p_mine + cardinality(v_taken));
      v_seen := look_v1(v_taken, array_fill(-1::bigint, array[cardinality(v_taken)]), '{}', '{}', '{}');
    end if;
    if v_left is not null then
      v_next := (select jsonb_object_agg(key, least(value::bigint, v_left + 1000))
                   from jsonb_each_text(v_next));
    end if;
  end if;
  return json_build_object(
    'now', v_now, 'lanes', v_lanes, 'seen', v_seen, 'next', v_next, 'full', v_found >= p_limit and v_left is null,
    'floor', case when v_left is not null then v_left
                  when v_found < p_limit then v_now
                  else v_floor end,
    'surplus', v_surplus,
    'owned', exists (select from process where owning),
    'arrivals', exists (select from arrival));
end $$;

-- As before (005) and (003), but that the indexes are not used.
create or replace function take_v1(p_owner bigint, p_rows tid[], p_levels int[], out lanes json, out taken bigint[])
language plpgsql set enable_bitmapscan = off as $$
declare
  v_hidden bigint[] := hide_v1(p_rows, p_levels);
begin
  -- By the index, in order of id: as everybody locks lanes.
  with mine as (
    update lane set owner = p_owner, epoch = epoch + 1 where id = any (v_hidden) and owner is null
    returning *)
  select json_agg(json_build_array(
           id, transport, server, credential, shard, tenant, epoch, circuit_strikes, circuit_opened,
           circuit_until, circuit_since, circuit_reason, crashes, paused_at) order by id),
         array_agg(id order by id)
    into lanes, taken from mine;
end $$;

create or replace function open_lanes_v1(p_lanes bigint[]) returns jsonb language plpgsql as $$
declare
  v_rings jsonb;
begin
  update lane_level set ready_at = never() where lane_id = any (p_lanes) and ready_at <> never();
  with goal as materialized (
    select l.id, v.level, l.pool,
           greatest(v.at, case when l.paused_at > 0 then never() else l.circuit_until end) as at
      from lane l
     cross join lateral (select least(r.level, 6) as level, min(r.ready_at) as at from rung r
                          where r.lane_id = l.id and r.level >= 0 and r.ready_at < never()
                          group by 1) v
     where l.id = any (p_lanes)),
  opened as (
    insert into lane_level (lane_id, level, pool, ready_at)
    select id, level, pool, greatest(at, now_ms()) from goal
    on conflict (lane_id, level) do update set ready_at = excluded.ready_at),
  soonest as (select level, min(at) as at from goal where at < never() group by 1)
  select jsonb_agg(jsonb_build_array(null, 0, 0, level, at, 0)) into v_rings from soonest;
  if v_rings is null then
    return '[]';
  end if;
  perform notify_v1(v_rings);
  return v_rings;
end $$;
