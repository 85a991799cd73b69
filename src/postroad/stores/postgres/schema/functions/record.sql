-- What came of tries: one transaction for each batch, fenced by the epochs of the lanes.

-- p_lane, p_epoch: the lanes of this batch; results name them by their place, `pair`. p_done: delivered
-- messages, with p_queue, p_tries (before this one) and p_took. p_order_groups: the order groups of all results.
-- p_failed, p_targets, p_queues, p_lanes: other results, the rungs they move to, changes of queues and lanes.
-- Returns which of the lanes are the owner's.
create or replace function record(
  p_owner bigint, p_lane bigint[], p_epoch bigint[],
  p_done bigint[], p_queue bigint[], p_tries int[], p_took int[], p_order_groups bigint[],
  p_failed json, p_targets json, p_queues json, p_lanes json)
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now bigint := now_ms();
  v_queues bigint[];  -- those whose blocks may change
  v_lanes bigint[];   -- all their lanes
  v_held boolean[];
  v_rings jsonb := '[]';
begin
  perform set_config('synchronous_commit', 'off', true);
  perform make_history_day(v_now / 86400000);
  if p_queues is not null or p_lanes is not null then
    v_queues := array(select q.queue from json_to_recordset(p_queues) as q(queue bigint)
                      union
                      select ql.queue_id from json_to_recordset(p_lanes) as l(pair int, opened int)
                        join queue_lane ql on ql.lane_id = p_lane[l.pair] and l.opened = 0
                        join queue q on q.id = ql.queue_id and q.block_kind = 'unreachable');
    v_lanes := array(select lane_id from queue_lane where queue_id = any (v_queues));
    perform lock_exclusive(v_lanes);
    perform from lane where id = any (p_lane || v_lanes) order by id for no key update;
  else
    -- A takeover or a release waits for us, or we see it. A statement of its own: the next one's
    -- snapshot sees all that was done before the lanes were ours.
    perform from lane where id = any (p_lane) order by id for share;
  end if;
  v_held := array(
    select coalesce((select l.epoch = x.epoch from lane l where l.id = x.lane and l.owner = p_owner), false)
      from unnest(p_lane, p_epoch) with ordinality x(lane, epoch, n) order by x.n);
  perform record_delivered(p_done, p_queue, p_tries, p_took, v_now);
  if p_failed is not null then
    v_rings := record_failed(p_lane, p_failed, p_targets, p_order_groups, v_held, v_now);
  end if;
  if cardinality(p_order_groups) > 0 then
    v_rings := v_rings || refresh_heads(p_order_groups, p_owner);
  end if;
  if v_queues is not null then
    v_rings := v_rings || record_blocks(p_lane, v_held, v_queues, p_queues, p_lanes);
  end if;
  return json_build_object('now', now_ms(), 'held', v_held, 'rings', v_rings);
end $$;

-- A success counts whenever it comes, once; it also takes a message out of the dead set, marked late.
create or replace function record_delivered(p_done bigint[], p_queue bigint[], p_tries int[], p_took int[],
                                            p_now bigint)
returns void language plpgsql set enable_nestloop = off as $$
declare
  v_gone int;
begin
  if cardinality(p_done) = 0 then
    return;
  end if;
  -- Deleted by id = any: joined to the results it was planned as a walk over the whole table once
  -- ANALYZE had seen the table empty. Columns that are the same for all come once; where all are, no
  -- join is needed, 1 µs a message less. And one message needs no groups, 40 µs less.
  if cardinality(p_done) = 1 then
    with gone as (
      delete from message where id = any (p_done) returning id, rung_id, level, attempts, accepted_at)
    insert into history_batch (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
    select g.id, p_queue[1], 'delivered', g.accepted_at, p_now, g.level,
           -- Late: another owner has tried meanwhile; a verdict of doubt has counted this try.
           case when g.attempts > p_tries[1]
                then g.attempts + (select (r.step >= 0)::int from rung r where r.id = g.rung_id)
                else p_tries[1] + 1 end, p_took[1]
      from gone g;
    get diagnostics v_gone = row_count;
  elsif greatest(cardinality(p_queue), cardinality(p_tries), cardinality(p_took)) = 1 then
    with gone as (
      delete from message where id = any (p_done) returning id, rung_id, level, attempts, accepted_at),
    put as (
      insert into history_batch (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms, ids, accepted)
      select min(g.id), p_queue[1], 'delivered', min(g.accepted_at), p_now, g.level,
             case when g.attempts > p_tries[1]
                  then g.attempts + (select (r.step >= 0)::int from rung r where r.id = g.rung_id)
                  else p_tries[1] + 1 end as made, p_took[1],
             case when count(*) > 1 then array_agg((g.id & 268435455)::int) end,
             case when min(g.accepted_at) < max(g.accepted_at) then array_agg(g.accepted_at) end
        from gone g group by g.id >> 28, g.level, made
      returning coalesce(cardinality(ids), 1) as n)
    select sum(n) into v_gone from put;
  else
    with gone as (
      delete from message where id = any (p_done) returning id, rung_id, level, attempts, accepted_at),
    put as (
      insert into history_batch (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms, ids, queues,
                        accepted, took)
      select min(g.id), coalesce(min(x.queue), p_queue[1]), 'delivered', min(g.accepted_at), p_now, g.level,
             case when g.attempts > coalesce(x.tries, p_tries[1])
                  then g.attempts + (select (r.step >= 0)::int from rung r where r.id = g.rung_id)
                  else coalesce(x.tries, p_tries[1]) + 1 end as made, coalesce(min(x.took), p_took[1]),
             case when count(*) > 1 then array_agg((g.id & 268435455)::int) end,
             case when min(x.queue) < max(x.queue) then array_agg(x.queue) end,
             case when min(g.accepted_at) < max(g.accepted_at) then array_agg(g.accepted_at) end,
             case when min(x.took) < max(x.took) then array_agg(x.took) end
        from gone g
        -- Once each: an owner that lost a lane and got it back may have sent a message twice.
        join (select distinct on (u.id) u.* from unnest(p_done, p_queue, p_tries, p_took)
                     u(id, queue, tries, took) order by u.id) x on x.id = g.id
       group by g.id >> 28, g.level, made
      returning coalesce(cardinality(ids), 1) as n)
    select sum(n) into v_gone from put;
  end if;
  if v_gone is null or v_gone < cardinality(p_done) then
    perform lock_dead(p_done);
    with risen as (
      delete from dead where id = any (p_done)
      returning id, queue_id, level, attempts - (reason = 'crash_loop')::int as attempts, accepted_at)
    insert into history_batch (id, queue_id, state, late, accepted_at, finished_at, level, attempts, took_ms)
    select r.id, r.queue_id, 'delivered', true, r.accepted_at, p_now, r.level, r.attempts + 1,
           coalesce(p_took[array_position(p_done, r.id)], p_took[1])
      from risen r;
  end if;
end $$;

-- Results that did not deliver, of lanes that are still the owner's. A message that died while it was tried
-- and was replayed before that try ended has another rung or place than the result names: then the try is
-- counted and decides nothing. Order groups are locked before other rungs are woken, as an enqueue does it:
-- the other way round a record and an enqueue to both could deadlock.
create or replace function record_failed(p_lane bigint[], p_failed json, p_targets json, p_order_groups bigint[],
                                         p_held boolean[], p_now bigint)
returns jsonb language plpgsql set enable_nestloop = off as $$
declare
  t_lane bigint[];
  t_queue bigint[];
  t_level int[];
  t_priority int[];
  t_due bigint[];
  v_to bigint[];
begin
  select array_agg(p_lane[t.pair]), array_agg(t.queue), array_agg(t.level), array_agg(t.priority),
         array_agg(t.due)
    into t_lane, t_queue, t_level, t_priority, t_due
    from json_to_recordset(p_targets) as t(pair int, queue bigint, level int, priority int, due bigint)
   where p_held[t.pair];
  if t_lane is not null then
    v_to := ensure_rungs(t_lane, t_queue, t_level, t_priority, array_fill(0, array[cardinality(t_lane)]));
  end if;
  with failed as materialized (
    select f.* from json_to_recordset(p_failed) as f(
      pair int, id bigint, rung bigint, at bigint, queue bigint, tries int, since int, last boolean, was int, level int,
      "to" int, due bigint, place bigint, gone text, reason text, kind text, status int, error text,
      started bigint, took int, order_group int, priority int)
     where p_held[f.pair]),
  tried as (
    insert into attempt (message_id, number, started_at, level, kind, status, took_ms, error)
    select id, tries + 1, started, was, kind, status, took, error from failed
     where gone is distinct from 'cancelled' or started > 0  -- else it was cancelled before its try
    on conflict do nothing),
  -- The number of tries tells a result that is written twice; of several results of one message in
  -- this batch the last one counts. An update, not delete and insert: so a late success of the
  -- former owner follows the row and finds it.
  moved as (
    update message m
       set rung_id = coalesce((select r.id from rung r
                                where f."to" is not null and r.lane_id = p_lane[f.pair]
                                  and r.queue_id = f.queue and r.order_group = 0 and r.step = f."to"
                                  and r.priority = f.priority), m.rung_id),
           place = coalesce(f.place, m.place), due = coalesce(f.due, m.due), level = f.level,
           attempts = f.tries + 1,
           -- A try in place wipes its own mark only: the next one may be noted before it is written.
           marks = case when f.place is null and f.due is null
                        then greatest(0, m.marks - (f.tries + 1 - m.attempts)) else 0 end
      from failed f
     where m.id = any (array(select x.id from failed x where x.last and x.gone is null))
       and m.id = f.id and f.last and m.attempts between f.since and f.tries
       and (f.rung is null or (m.rung_id = f.rung and m.place = f.at))),
  counted as (
    update message m set attempts = f.tries + 1
      from failed f
     where m.id = any (array(select x.id from failed x where x.last))
       and m.id = f.id and f.last and m.attempts between f.since and f.tries
       and (m.rung_id <> f.rung or m.place <> f.at)),
  gone as materialized (
    delete from message m using failed f
     where m.id = any (array(select x.id from failed x where x.gone is not null))
       and m.id = f.id and f.gone is not null
       and (f.rung is null or (m.rung_id = f.rung and m.place = f.at)) returning m.*),
  died as (
    insert into dead (id, queue_id, lane_id, reason, died_at, level, attempts, accepted_at, priority,
                      order_group, order_key, error, status, headers, body)
    select g.id, f.queue, p_lane[f.pair], f.reason, p_now, g.level, f.tries + 1, g.accepted_at,
           f.priority, f.order_group, g.order_key, f.error, f.status, g.headers, g.body
      from gone g join failed f on f.id = g.id and f.gone = 'dead'
    on conflict do nothing)
  insert into history (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
  select g.id, f.queue, 'cancelled', g.accepted_at, p_now, g.level,
         f.tries + (f.started > 0)::int, 0
    from gone g join failed f on f.id = g.id and f.gone = 'cancelled';
  if v_to is null then
    return '[]';
  end if;
  perform from rung where id = any (p_order_groups) and order_group > 0 order by id for no key update;
  return wake_rungs(t_lane, v_to, t_due);
end $$;

-- Write the blocks of queues and the circuits of lanes, and tell the owners of other lanes of these queues. A
-- circuit that closes lifts the `unreachable` blocks of its lane's queues.
create or replace function record_blocks(p_lane bigint[], p_held boolean[], p_changed bigint[], p_queues json, p_lanes json)
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
  perform apply_blocks(p_changed);
  return touch_lanes(v_touched);
end $$;
