-- Messages that leave without a try (expired, cancelled), and retention.

-- Messages whose own deadline has passed die; returns the blocks and open circuits that the sweeper is to judge.
create or replace function sweep(p_limit int) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_now bigint := now_ms();
  v_ids bigint[];
  v_batches bigint[] := '{}';
  v_rings jsonb := '[]';
begin
  v_ids := lock_messages(array(select id from message where expires_at <= v_now and expires_at < never()
                          order by expires_at limit p_limit));
  if v_ids is not null then
    v_batches := batches_of(v_ids);
    v_rings := bury(v_ids, 'expired', v_now);
  end if;
  return json_build_object(
    'now', v_now, 'rings', v_rings, 'expired', coalesce(cardinality(v_ids), 0),
    'next', (select min(expires_at) from message where expires_at < never()),
    'batches', v_batches,
    'spells', (
      select coalesce(json_agg(s), '[]') from (
        select q.id as queue, q.policy, q.block_kind as kind, q.block_since as since, 0 as lane
          from queue q where q.block_kind in ('quota', 'setup', 'rule', 'handler', 'unreachable') and q.paused_at = 0
        union all
        select q.id, q.policy, 'unreachable', l.circuit_since, l.id
          from lane l join queue_lane ql on ql.lane_id = l.id join queue q on q.id = ql.queue_id
         where l.circuit_opened > 0 and l.paused_at = 0 and q.paused_at = 0
           and l.circuit_since <= v_now) s));
end $$;

-- Messages of a queue, on all its lanes or (not 0) on one, die because a block or an open circuit has lasted
-- too long: those with ids from before an edge that have been due for as long (not those that were replayed
-- since or asked for later). Ids are in time order, so only old messages are read, never the whole queue.
create or replace function sweep_spell(p_queue bigint, p_lane bigint, p_edge bigint, p_due bigint, p_reason text,
                                       p_limit int)
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_ids bigint[];
  v_batches bigint[];
begin
  v_ids := lock_messages(array(
    select m.id from message m
     where m.id < p_edge and m.due <= p_due
       and (select r.queue_id = p_queue and r.level >= 0 and (p_lane = 0 or r.lane_id = p_lane)
              from rung r where r.id = m.rung_id)
     limit p_limit));
  v_batches := batches_of(v_ids);
  return json_build_object(
    'now', now_ms(), 'expired', coalesce(cardinality(v_ids), 0), 'batches', v_batches,
    'rings', case when v_ids is null then '[]' else bury(v_ids, p_reason, now_ms()) end);
end $$;

-- Lock the lanes of messages, then those of the messages that nobody else is writing, and return these. Lanes
-- before messages, as everybody locks them: a record that changes a block has its lanes exclusively.
create or replace function lock_messages(p_ids bigint[]) returns bigint[] language plpgsql as $$
begin
  perform from lane where id = any (array(
      select (select r.lane_id from rung r where r.id = m.rung_id) from message m where m.id = any (p_ids)))
    order by id for share;
  return (select array_agg(x.id) from (
    select id from message where id = any (p_ids) order by id for update skip locked) x);
end $$;

-- Move messages to the dead set for a reason, or without one to history as cancelled; those who wait for their
-- ends (owner -1) are among the rings. The caller has locked their lanes.
create or replace function bury(p_ids bigint[], p_reason text, p_now bigint) returns jsonb
language plpgsql set enable_nestloop = off as $$
declare
  v_rungs bigint[];
begin
  perform make_history_day(p_now / 86400000);
  with gone as materialized (delete from message where id = any (p_ids) returning *),
  place as materialized (
    select r.* from rung r where r.id = any (array(select g.rung_id from gone g))),
  died as (
    insert into dead (id, queue_id, lane_id, reason, died_at, level, attempts, accepted_at, priority,
                      order_group, order_key, error, status, headers, body)
    select g.id, r.queue_id, r.lane_id, p_reason, p_now, g.level, g.attempts, g.accepted_at, r.priority,
           r.order_group, g.order_key, '', 0, g.headers, g.body
      from gone g join place r on r.id = g.rung_id where p_reason is not null
    on conflict do nothing),
  cancelled as (
    insert into history (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
    select g.id, r.queue_id, 'cancelled', g.accepted_at, p_now, g.level, g.attempts, 0
      from gone g join place r on r.id = g.rung_id where p_reason is null)
  select array_agg(distinct g.rung_id) into v_rungs from gone g;
  perform end_members(0, '{}', p_ids, array[p_reason is not null]);
  return refresh_heads(v_rungs, 0) || (
    select coalesce(jsonb_agg(jsonb_build_array(-1, id, 0, 0, 0, 0)), '[]') from unnest(p_ids) id);
end $$;

-- Delete finished work that is past its retention; returns how much went. History goes by the day, a whole
-- partition when nothing in it is younger than the edge.
create or replace function retain(p_history_ms bigint, p_dead_ms bigint, p_limit int) returns int
language plpgsql
set search_path = postroad, pg_temp set jit = off set lock_timeout = '2s' as $$
declare
  v_now bigint := now_ms();
  v_today bigint := v_now / 86400000;
  v_edge bigint := v_now - p_history_ms;
  v_gone int;
  v_bodies int;
  v_outputs int;
  v_dead bigint[];
begin
  perform set_config('synchronous_commit', 'off', true);
  for v_ahead in 0..2 loop
    perform make_history_day(v_today + v_ahead);
  end loop;
  v_gone := drop_history_days(v_edge);
  v_dead := lock_dead(array(select id from dead where died_at < v_now - p_dead_ms limit p_limit));
  delete from dead where id = any (v_dead);
  delete from attempt where message_id = any (v_dead);
  delete from message_recipient where message_id = any (v_dead);
  delete from idempotency where (queue_id, key) in (
    select queue_id, key from idempotency where expires_at <= v_now limit p_limit);
  delete from tick where (tenant, schedule, at) in (
    select tenant, schedule, at from tick where decided_at < v_edge limit p_limit);
  delete from process p where greatest(p.beat_at, p.asked_at) <= v_now - 86400000
     and not exists (select from lane l where l.owner = p.id);
  perform skip_batches(array(select id from batch where state = 'filling' and made_at < v_now - 3600000), v_now);
  with gone as (
    delete from batch where id in (
      select id from batch where ended_at > 0 and ended_at < v_edge limit p_limit) returning id)
  delete from batch_count where batch_id in (select id from gone);
  delete from kept_body where id in (
    select id from kept_body where ends_at <= v_now order by ends_at limit p_limit);
  get diagnostics v_bodies = row_count;
  delete from job_output where (id, kind) in (
    select id, kind from job_output where ends_at <= v_now order by ends_at limit p_limit);
  get diagnostics v_outputs = row_count;
  return v_gone + cardinality(v_dead) + v_bodies + v_outputs;
end $$;
