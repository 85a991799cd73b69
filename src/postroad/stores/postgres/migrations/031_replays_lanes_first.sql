-- A replay takes what it needs in the order of all others: lanes, the messages that hold their slots, the
-- dead, rungs (slots, then the others), lane levels. It had the dead before all of these: a record that had
-- a late success of one of them, and its lane alone or its head, waited for the replay and it for the
-- record. And it lowered the levels of lanes in three steps, each in order: beside an enqueue to several
-- lanes each could wait for the other. One of them had to be done again.

-- The dead that a filter names, the longest dead first; or those of these ids. Not locked.
create function find_dead_v1(p_tenant text, p_queue text, p_reason text, p_error text, p_since bigint,
                             p_until bigint, p_ids bigint[], p_count bigint)
returns bigint[] language plpgsql as $$
begin
  if p_ids is not null then
    return array(
      select d.id from dead d
       where d.id = any (p_ids)
         and (p_tenant is null or p_tenant = (select q.tenant from queue q where q.id = d.queue_id)));
  end if;
  return array(
    select d.id from dead d
     where d.died_at >= p_since and d.died_at < p_until
       and (p_reason is null or d.reason = p_reason)
       and (p_error is null or strpos(lower(d.error), lower(p_error)) > 0)
       and (select (p_tenant is null or q.tenant = p_tenant) and (p_queue is null or q.name = p_queue)
              from queue q where q.id = d.queue_id)
     order by d.died_at, d.id limit p_count);
end $$;

-- Put the dead that are meant back on their rungs, due now, without a deadline; named ones may also
-- be exhausted heads that hold their slots. One that is neither is `refused`, and nothing is changed.
create or replace function replay_v1(p_tenant text, p_queue text, p_reason text, p_error text, p_since bigint,
                          p_until bigint, p_ids bigint[], p_count bigint, p_once boolean, p_dry boolean)
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_dead bigint[] := find_dead_v1(p_tenant, p_queue, p_reason, p_error, p_since, p_until, p_ids, p_count);
  v_heads bigint[] := '{}';
  v_refused bigint;
  v_rings jsonb := '[]';
begin
  if p_ids is not null then
    v_heads := array(
      select m.id from message m
       where m.id = any (p_ids) and m.due = never()
         and (select r.held <> '' and (p_tenant is null or p_tenant =
                     (select q.tenant from queue q where q.id = r.queue_id))
                from rung r where r.id = m.rung_id));
  end if;
  if not p_dry then
    perform lock_shared_v1(array(select lane_id from dead where id = any (v_dead)));
    perform from lane
      where id = any (array(select lane_id from dead where id = any (v_dead)
                            union all select r.lane_id from message m join rung r on r.id = m.rung_id
                                       where m.id = any (v_heads)))
      order by id for share;
    perform from message where id = any (v_heads) order by id for no key update;
    -- Those that are still there.
    v_dead := array(select id from dead where id = any (v_dead) order by id for update);
  end if;
  select x.id into v_refused from unnest(p_ids) with ordinality x(id, n)
   where x.id <> all (v_dead) and x.id <> all (v_heads) order by x.n limit 1;
  if v_refused is not null then
    return json_build_object('now', now_ms(), 'refused', v_refused,
                             'state', not_dead_v1(v_refused, p_tenant));
  end if;
  if not p_dry then
    v_rings := revive_v3(v_dead, v_heads, p_once) || unhold_v1(v_heads, p_once);
  end if;
  return json_build_object('now', now_ms(), 'rings', v_rings,
                           'count', cardinality(v_dead) + cardinality(v_heads));
end $$;

-- (revive_v2 stays: a replay may be under way while this is put in its place.)
-- The dead rise. `p_heads`: those that are let go by the same replay, afterwards. The caller has the
-- lanes of both, and both.
create function revive_v3(p_ids bigint[], p_heads bigint[], p_once boolean) returns jsonb
language plpgsql set enable_nestloop = off as $$
declare
  v_now bigint := now_ms();
  v_slots bigint[] := array(select rung_id from message where id = any (p_heads));
  r_lane bigint[];
  r_queue bigint[];
  r_level int[];
  r_priority int[];
  r_slot int[];
  r_count int[];
  v_rungs bigint[];
  v_base bigint[];
begin
  if cardinality(p_ids) = 0 then
    return '[]';
  end if;
  with rungs as (
    select d.lane_id, d.queue_id, case when d.slot = 0 and p_once then retries_v1(d.queue_id) else 0 end as level,
           case when d.slot > 0 then 0 else d.priority end as priority, d.slot,
           (count(*) filter (where d.slot > 0))::int as n
      from dead d where d.id = any (p_ids) group by 1, 2, 3, 4, 5)
  select array_agg(lane_id), array_agg(queue_id), array_agg(level), array_agg(priority), array_agg(slot),
         array_agg(n)
    into r_lane, r_queue, r_level, r_priority, r_slot, r_count from rungs;
  v_rungs := rungs_v1(r_lane, r_queue, r_level, r_priority, r_slot);
  perform from rung where id = any (v_rungs || v_slots) and slot > 0 order by id for no key update;
  if exists (select from unnest(r_count) n where n > 0) then
    v_base := places_v1(v_rungs, r_count);
  end if;
  with risen as (delete from dead where id = any (p_ids) returning *),
  placed as (  -- of one ordered slot, whoever was accepted first goes first again
    select d.*, x.n as of, case when d.slot > 0 then row_number() over
                  (partition by x.n order by d.accepted_at, d.id) else 0 end as nth
      from risen d
      join unnest(r_lane, r_queue, r_priority, r_slot) with ordinality x(lane, queue, priority, slot, n)
        on x.lane = d.lane_id and x.queue = d.queue_id and x.slot = d.slot
       and x.priority = case when d.slot > 0 then 0 else d.priority end)
  insert into message (id, rung_id, place, due, level, attempts, accepted_at, expires_at, order_key,
                       headers, body)
  select p.id, v_rungs[p.of], case when p.nth > 0 then v_base[p.of] + p.nth else v_now end, v_now,
         case when p_once then retries_v1(p.queue_id) else 0 end, p.attempts, p.accepted_at, never(),
         p.order_key, p.headers, p.body
    from placed p;
  -- What is woken here, settled here and settled with the heads, before any of it is.
  perform from rung where id = any (v_rungs) and slot = 0 order by id for no key update;
  perform from lane_level
    where lane_id = any (r_lane || array(select lane_id from rung where id = any (v_slots)))
    order by lane_id, level for no key update;
  return wake_v1(r_lane, v_rungs, array_fill(v_now, array[cardinality(v_rungs)]))
         || settle_v1(v_rungs, 0);
end $$;
