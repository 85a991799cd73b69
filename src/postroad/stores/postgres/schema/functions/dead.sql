-- The dead set: chosen, replayed, purged.

-- The dead messages that a filter names, those dead longest first; or those of these ids. Not locked. Those of one
-- queue, or of a tenant with few, are found by queue, whatever is dead beside them.
create or replace function find_dead(p_tenant text, p_queue text, p_reason text, p_error text, p_since bigint,
                                     p_until bigint, p_ids bigint[], p_count bigint)
returns bigint[] language plpgsql as $$
declare
  v_queues bigint[];
begin
  if p_ids is not null then
    return array(
      select d.id from dead d
       where d.id = any (p_ids)
         and (p_tenant is null or p_tenant = (select q.tenant from queue q where q.id = d.queue_id)));
  end if;
  if p_tenant is not null then
    v_queues := array(select q.id from queue q where q.tenant = p_tenant and (p_queue is null or q.name = p_queue)
                       limit 1000);
  end if;
  if cardinality(v_queues) < 1000 then
    return array(
      select d.id from unnest(v_queues) q(id) cross join lateral (
        select x.id, x.died_at from dead x
         where x.queue_id = q.id and x.died_at >= p_since and x.died_at < p_until
           and (p_reason is null or x.reason = p_reason)
           and (p_error is null or strpos(lower(x.error), lower(p_error)) > 0)
         order by x.died_at, x.id limit p_count) d
       order by d.died_at, d.id limit p_count);
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

-- Where a tenant's message is that is not in the dead set.
create or replace function state_of(p_id bigint, p_tenant text) returns text language sql stable as $$
  select x.state from (
    select case when r.level < 0 then 'uncertain' else 'not finished' end as state, r.queue_id
      from message m join rung r on r.id = m.rung_id where m.id = p_id
    union all select 'not finished', a.queue_id from arrival a where a.id = p_id
    union all select h.state, h.queue_id from finished(array[p_id]) h) x
   where (select p_tenant is null or q.tenant = p_tenant from queue q where q.id = x.queue_id) limit 1
$$;

-- Put the dead messages that are meant back on their rungs, due now, without a deadline. Ids may also name
-- exhausted heads that hold their order groups. An id that is neither is `refused`, and nothing is changed. All that
-- both need is locked here and in revive before any of it is written, in the common order: one after the
-- other, a replay deadlocked with enqueues to both and with late successes.
create or replace function replay(p_tenant text, p_queue text, p_reason text, p_error text, p_since bigint,
                                  p_until bigint, p_ids bigint[], p_count bigint, p_once boolean, p_dry boolean)
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_dead bigint[] := find_dead(p_tenant, p_queue, p_reason, p_error, p_since, p_until, p_ids, p_count);
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
    perform lock_shared(array(select lane_id from dead where id = any (v_dead)));
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
                             'state', state_of(v_refused, p_tenant));
  end if;
  if not p_dry then
    v_rings := revive(v_dead, v_heads, p_once) || release_heads(v_heads, p_once);
  end if;
  return json_build_object('now', now_ms(), 'rings', v_rings,
                           'count', cardinality(v_dead) + cardinality(v_heads));
end $$;

-- The dead become messages again. `p_heads`: heads that the same replay releases afterwards. The caller has
-- locked the messages and lanes of both.
create or replace function revive(p_ids bigint[], p_heads bigint[], p_once boolean) returns jsonb
language plpgsql set enable_nestloop = off as $$
declare
  v_now bigint := now_ms();
  v_order_groups bigint[] := array(select rung_id from message where id = any (p_heads));
  r_lane bigint[];
  r_queue bigint[];
  r_level int[];
  r_priority int[];
  r_order_group int[];
  r_count int[];
  v_rungs bigint[];
  v_base bigint[];
begin
  if cardinality(p_ids) = 0 then
    return '[]';
  end if;
  with rungs as (
    select d.lane_id, d.queue_id, case when d.order_group = 0 and p_once then retries_of(d.queue_id) else 0 end as level,
           case when d.order_group > 0 then 0 else d.priority end as priority, d.order_group,
           (count(*) filter (where d.order_group > 0))::int as n
      from dead d where d.id = any (p_ids) group by 1, 2, 3, 4, 5)
  select array_agg(lane_id), array_agg(queue_id), array_agg(level), array_agg(priority), array_agg(order_group),
         array_agg(n)
    into r_lane, r_queue, r_level, r_priority, r_order_group, r_count from rungs;
  v_rungs := ensure_rungs(r_lane, r_queue, r_level, r_priority, r_order_group);
  perform from rung where id = any (v_rungs || v_order_groups) and order_group > 0 order by id for no key update;
  if exists (select from unnest(r_count) n where n > 0) then
    v_base := next_places(v_rungs, r_count);
  end if;
  with risen as (delete from dead where id = any (p_ids) returning *),
  placed as (  -- of one order group, whoever was accepted first goes first again
    select d.*, x.n as of, case when d.order_group > 0 then row_number() over
                  (partition by x.n order by d.accepted_at, d.id) else 0 end as nth
      from risen d
      join unnest(r_lane, r_queue, r_priority, r_order_group) with ordinality x(lane, queue, priority, order_group, n)
        on x.lane = d.lane_id and x.queue = d.queue_id and x.order_group = d.order_group
       and x.priority = case when d.order_group > 0 then 0 else d.priority end)
  insert into message (id, rung_id, place, due, level, attempts, accepted_at, expires_at, order_key,
                       headers, body)
  select p.id, v_rungs[p.of], case when p.nth > 0 then v_base[p.of] + p.nth else v_now end, v_now,
         case when p_once then retries_of(p.queue_id) else 0 end, p.attempts, p.accepted_at, never(),
         p.order_key, p.headers, p.body
    from placed p;
  -- What is woken here, settled here and settled with the heads, before any of it is.
  perform from rung where id = any (v_rungs) and order_group = 0 order by id for no key update;
  perform from lane_level
    where lane_id = any (r_lane || array(select lane_id from rung where id = any (v_order_groups)))
    order by lane_id, level for no key update;
  return wake_rungs(r_lane, v_rungs, array_fill(v_now, array[cardinality(v_rungs)]))
         || refresh_heads(v_rungs, 0);
end $$;

-- Heads that hold their order groups are due now.
create or replace function release_heads(p_ids bigint[], p_once boolean) returns jsonb language plpgsql as $$
declare
  v_now bigint := now_ms();
  v_rungs bigint[] := array(select rung_id from message where id = any (p_ids));
begin
  if cardinality(p_ids) = 0 then
    return '[]';
  end if;
  perform from lane where id = any (array(select lane_id from rung where id = any (v_rungs)))
    order by id for share;
  update message m
     set due = v_now, expires_at = never(), marks = 0,
         level = case when p_once
                      then retries_of((select r.queue_id from rung r where r.id = m.rung_id)) else 0 end
   where m.id = any (p_ids) and m.due = never();
  return refresh_heads(v_rungs, 0);
end $$;

-- How many retries the queue's ladder has.
create or replace function retries_of(p_queue bigint) returns int language sql stable as $$
  select (q.policy -> 'ladder' ->> 'retries')::int from queue q where q.id = p_queue
$$;

-- Delete the dead messages that are meant and their tries; an id that is not dead is `refused`.
create or replace function purge(p_tenant text, p_queue text, p_reason text, p_error text, p_since bigint,
                                 p_until bigint, p_ids bigint[], p_count bigint, p_dry boolean)
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_dead bigint[] := find_dead(p_tenant, p_queue, p_reason, p_error, p_since, p_until, p_ids, p_count);
  v_refused bigint;
begin
  if not p_dry then
    v_dead := lock_dead(v_dead);
  end if;
  select x.id into v_refused from unnest(p_ids) with ordinality x(id, n)
   where x.id <> all (v_dead) order by x.n limit 1;
  if v_refused is not null then
    return json_build_object('now', now_ms(), 'refused', v_refused,
                             'state', state_of(v_refused, p_tenant));
  end if;
  if not p_dry then
    delete from dead where id = any (v_dead);
    delete from attempt where message_id = any (v_dead);
    delete from message_recipient where message_id = any (v_dead);
  end if;
  return json_build_object('now', now_ms(), 'count', cardinality(v_dead));
end $$;

-- Delete a slice of the dead beyond so many, those dead longest first.
create or replace function trim_dead(p_keep bigint, p_slice int) returns int language plpgsql
set search_path = postroad, pg_temp set jit = off as $$
declare
  v_over bigint;
  v_gone bigint[];
begin
  select count(*) - p_keep into v_over from dead;
  if v_over <= 0 then
    return 0;
  end if;
  v_gone := lock_dead(array(select id from dead order by died_at, id limit least(v_over, p_slice)));
  delete from dead where id = any (v_gone);
  delete from attempt where message_id = any (v_gone);
  delete from message_recipient where message_id = any (v_gone);
  return cardinality(v_gone);
end $$;
