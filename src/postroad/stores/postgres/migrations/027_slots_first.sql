-- Of rungs, ordered slots are locked before the others, each kind by id (see 002 for what comes before
-- them). Who adds messages does so: positions in slots are given first, and then rungs that sleep are
-- woken. Results woke rungs before they settled slots: beside an enqueue or a replay that had both
-- in one transaction, each could wait for the other, and one of them had to be done again.

-- p_lane, p_epoch: the lanes of this batch, as `pair`s that results name. p_done: delivered messages,
-- with p_queue, p_tries (before this one) and p_took. p_slots: the ordered slots that any of the results is from. p_failed,
-- p_targets, p_queues, p_lanes: other results, the rungs that they go to, changes of queues and lanes.
-- Answers which pairs are the owner's.
create or replace function record_v1(
  p_owner bigint, p_lane bigint[], p_epoch bigint[],
  p_done bigint[], p_queue bigint[], p_tries int[], p_took int[], p_slots bigint[],
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
  perform history_day_v1(v_now / 86400000);
  if p_queues is not null or p_lanes is not null then
    v_queues := array(select q.queue from json_to_recordset(p_queues) as q(queue bigint)
                      union
                      select ql.queue_id from json_to_recordset(p_lanes) as l(pair int, opened int)
                        join queue_lane ql on ql.lane_id = p_lane[l.pair] and l.opened = 0
                        join queue q on q.id = ql.queue_id and q.block_kind = 'unreachable');
    v_lanes := array(select lane_id from queue_lane where queue_id = any (v_queues));
    perform lock_alone_v1(v_lanes);
    perform from lane where id = any (p_lane || v_lanes) order by id for no key update;
  else
    -- A takeover or a release waits for us, or we see it. A statement of its own: the next one's
    -- snapshot sees all that was done before the lanes were ours.
    perform from lane where id = any (p_lane) order by id for share;
  end if;
  v_held := array(
    select coalesce((select l.epoch = x.epoch from lane l where l.id = x.lane and l.owner = p_owner), false)
      from unnest(p_lane, p_epoch) with ordinality x(lane, epoch, n) order by x.n);
  perform deliver_v1(p_done, p_queue, p_tries, p_took, v_now);
  if p_failed is not null then
    v_rings := fail_v2(p_lane, p_failed, p_targets, p_slots, v_held, v_now);
  end if;
  if cardinality(p_slots) > 0 then
    v_rings := v_rings || settle_v1(p_slots, p_owner);
  end if;
  if v_queues is not null then
    v_rings := v_rings || change_v1(p_lane, v_held, v_queues, p_queues, p_lanes);
  end if;
  return json_build_object('now', now_ms(), 'held', v_held, 'rings', v_rings);
end $$;

-- (fail_v1 stays: a record may be under way while this is put in its place.)
-- Results that did not deliver, of lanes that are still the owner's.
create function fail_v2(p_lane bigint[], p_failed json, p_targets json, p_slots bigint[],
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
    v_to := rungs_v1(t_lane, t_queue, t_level, t_priority, array_fill(0, array[cardinality(t_lane)]));
  end if;
  with failed as materialized (
    select f.* from json_to_recordset(p_failed) as f(
      pair int, id bigint, rung bigint, at bigint, queue bigint, tries int, since int, last boolean, was int, level int,
      "to" int, due bigint, place bigint, gone text, reason text, kind text, status int, error text,
      started bigint, took int, slot int, priority int)
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
                                  and r.queue_id = f.queue and r.slot = 0 and r.step = f."to"
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
                      slot, order_key, error, status, headers, body)
    select g.id, f.queue, p_lane[f.pair], f.reason, p_now, g.level, f.tries + 1, g.accepted_at,
           f.priority, f.slot, g.order_key, f.error, f.status, g.headers, g.body
      from gone g join failed f on f.id = g.id and f.gone = 'dead'
    on conflict do nothing)
  insert into history (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
  select g.id, f.queue, 'cancelled', g.accepted_at, p_now, g.level,
         f.tries + (f.started > 0)::int, 0
    from gone g join failed f on f.id = g.id and f.gone = 'cancelled';
  if v_to is null then
    return '[]';
  end if;
  perform from rung where id = any (p_slots) and slot > 0 order by id for no key update;
  return wake_v1(t_lane, v_to, t_due);
end $$;
