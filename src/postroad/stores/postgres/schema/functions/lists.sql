-- Which messages a page of a list is made of. The functions return rows (type `listed`), at least the first p_limit
-- of them in the asked order. A row without a queue says that the search stopped early, at its id: everything
-- between the start and there was searched. list_messages has the planner settings of all of them.
-- Pages are ordered by id, which is the order of acceptance. Moments are ids without their last 28 bits (64 ms):
-- a row of history holds messages of one moment (docs/decisions/075-lists-without-a-plain-index.md).

-- The unfinished messages of a rung. Those that were sent to be tried at once have the place that their id names,
-- up to 64 ms before it (ids run ahead in a burst), so they are read by place; `message_moved` has all others.
-- Null: thousands with other places lie between those that are asked for, and a walk is cheaper.
create or replace function list_rung(p_rung bigint, p_low bigint, p_high bigint, p_newest boolean, p_limit int)
returns bigint[] language plpgsql stable as $$
declare
  v_from bigint := (p_low >> 22) + 1704067199936;
  v_to bigint := (p_high >> 22) + 1704067200000;
  v_most int := p_limit + 2000;
  v_found int;
  v_edge bigint;
  v_more boolean := false;
begin
  if p_newest then
    select count(*), min(y.place) into v_found, v_edge from (
      select x.place from (
        select m.place, m.id from message m where m.rung_id = p_rung and m.place between v_from and v_to
         order by m.place desc, m.id desc limit v_most) x
       where is_immediate(x.place, x.id) and x.id between p_low and p_high limit p_limit) y;
    if v_found < p_limit then
      v_edge := v_from;
      v_more := exists (select from message m where m.rung_id = p_rung and m.place between v_from and v_to
                         order by m.place desc, m.id desc offset v_most);
    end if;
    return case when not v_more then array(
      select x.id from (
        select m.id from message m
         where m.rung_id = p_rung and m.place between greatest(v_from, v_edge - 64) and v_to
           and is_immediate(m.place, m.id) and m.id between p_low and p_high
        union
        (select m.id from message m
          where m.rung_id = p_rung and m.id between p_low and p_high
            and (m.level > 0 or m.place - (m.id >> 22) not between 1704067199936 and 1704067200000)
          order by m.id desc limit p_limit)) x
       order by x.id desc limit p_limit) end;
  end if;
  select count(*), max(y.place) into v_found, v_edge from (
    select x.place from (
      select m.place, m.id from message m where m.rung_id = p_rung and m.place between v_from and v_to
       order by m.place, m.id limit v_most) x
     where is_immediate(x.place, x.id) and x.id between p_low and p_high limit p_limit) y;
  if v_found < p_limit then
    v_edge := v_to;
    v_more := exists (select from message m where m.rung_id = p_rung and m.place between v_from and v_to
                       order by m.place, m.id offset v_most);
  end if;
  return case when not v_more then array(
    select x.id from (
      select m.id from message m
       where m.rung_id = p_rung and m.place between v_from and least(v_to, v_edge + 64)
         and is_immediate(m.place, m.id) and m.id between p_low and p_high
      union
      (select m.id from message m
        where m.rung_id = p_rung and m.id between p_low and p_high
          and (m.level > 0 or m.place - (m.id >> 22) not between 1704067199936 and 1704067200000)
        order by m.id limit p_limit)) x
     order by x.id limit p_limit) end;
end $$;

-- Whether a message lies at the place that its id names. Such a message of level 0 is not in message_moved.
create or replace function is_immediate(p_place bigint, p_id bigint) returns boolean
language sql immutable as $$
  select p_place - (p_id >> 22) between 1704067199936 and 1704067200000
$$;

-- The first ids of many.
create or replace function sorted_ids(p_ids bigint[], p_newest boolean, p_limit int) returns bigint[]
language plpgsql immutable as $$
begin
  if p_newest then
    return array(select x.id from unnest(p_ids) x(id) order by x.id desc limit p_limit);
  end if;
  return array(select x.id from unnest(p_ids) x(id) order by x.id limit p_limit);
end $$;

-- Unfinished messages, of some rungs or (null) of all, walking over all where a rung cannot be read in order.
create or replace function list_unfinished(p_rungs bigint[], p_low bigint, p_high bigint, p_newest boolean, p_limit int)
returns setof listed language plpgsql stable as $$
declare
  v_ids bigint[] := '{}';
  v_walk boolean := p_rungs is null;
  v_rung bigint;
  v_some bigint[];
begin
  foreach v_rung in array coalesce(p_rungs, '{}') loop
    v_some := list_rung(v_rung, p_low, p_high, p_newest, p_limit);
    v_walk := v_some is null;
    exit when v_walk;
    v_ids := v_ids || v_some;
  end loop;
  if v_walk then
    v_ids := walk_unfinished(p_low, p_high, p_newest, case when p_rungs is null then p_limit else 5000 end);
    if p_rungs is not null and cardinality(v_ids) = 5000 then
      return next (v_ids[5000], null, 'message', 'waiting', '', 0, 0, 0, 0, 0, '', '')::listed;
    end if;
  elsif cardinality(p_rungs) > 1 then
    v_ids := sorted_ids(v_ids, p_newest, p_limit);
  end if;
  return query select * from unfinished_rows(v_ids) u where p_rungs is null or u.owner = any (p_rungs);
end $$;

-- Those of these messages that are unfinished.
create or replace function unfinished_rows(p_ids bigint[]) returns setof listed language sql stable
as $$
  select m.id, m.rung_id, 'message', 'waiting', '', m.accepted_at,
         m.due, 0::bigint, m.level, m.attempts, m.order_key, coalesce((
           select a.error from postroad.attempt a where m.attempts > 0 and a.message_id = m.id
            order by a.number desc limit 1), '')
    from postroad.message m where m.id = any (p_ids)
$$;

-- The next unfinished messages of all queues.
create or replace function walk_unfinished(p_low bigint, p_high bigint, p_newest boolean, p_limit int)
returns bigint[] language plpgsql stable as $$
begin
  if p_newest then
    return array(select m.id from message m where m.id between p_low and p_high order by m.id desc limit p_limit);
  else
    return array(select m.id from message m where m.id between p_low and p_high order by m.id limit p_limit);
  end if;
end $$;

-- Dead messages, of some queues or (null) of all.
create or replace function list_dead(p_queues bigint[], p_low bigint, p_high bigint, p_newest boolean, p_limit int)
returns setof listed language plpgsql stable as $$
declare
  v_ids bigint[];
begin
  if p_queues is null and p_newest then
    v_ids := array(select m.id from dead m where m.id between p_low and p_high
                    order by m.id desc limit p_limit);
  elsif p_queues is null then
    v_ids := array(select m.id from dead m where m.id between p_low and p_high order by m.id limit p_limit);
  elsif p_newest then
    v_ids := array(select x.id from unnest(p_queues) q(id) cross join lateral (
      select m.id from dead m where m.queue_id = q.id and m.id between p_low and p_high
       order by m.id desc limit p_limit) x);
  else
    v_ids := array(select x.id from unnest(p_queues) q(id) cross join lateral (
      select m.id from dead m where m.queue_id = q.id and m.id between p_low and p_high
       order by m.id limit p_limit) x);
  end if;
  return query
    select m.id, m.queue_id, 'dead', 'dead', m.reason, m.accepted_at, 0::bigint, m.died_at, m.level, m.attempts,
           m.order_key, m.error
      from dead m where m.id = any (sorted_ids(v_ids, p_newest, p_limit));
end $$;

-- Messages in a broker that something is known about, of some queues or (null) of all.
create or replace function list_noted(p_queues bigint[], p_low bigint, p_high bigint, p_newest boolean, p_limit int)
returns setof listed language plpgsql stable as $$
declare
  v_ids bigint[];
begin
  if p_queues is null and p_newest then
    v_ids := array(select m.id from broker_message m where m.done = 0 and m.id between p_low and p_high
                    order by m.id desc limit p_limit);
  elsif p_queues is null then
    v_ids := array(select m.id from broker_message m where m.done = 0 and m.id between p_low and p_high
                    order by m.id limit p_limit);
  elsif p_newest then
    v_ids := array(select x.id from unnest(p_queues) q(id) cross join lateral (
      select m.id from broker_message m where m.done = 0 and m.queue_id = q.id and m.id between p_low and p_high
       order by m.id desc limit p_limit) x);
  else
    v_ids := array(select x.id from unnest(p_queues) q(id) cross join lateral (
      select m.id from broker_message m where m.done = 0 and m.queue_id = q.id and m.id between p_low and p_high
       order by m.id limit p_limit) x);
  end if;
  return query
    select m.id, m.queue_id, 'broker',
           case when k.ends > now_ms() then 'held' else 'waiting' end,
           case when k.ends > now_ms() then k.because else '' end,
           m.accepted_at, m.due, 0::bigint, m.level, m.attempts, '', coalesce((
             select a.error from attempt a where m.attempts > 0 and a.message_id = m.id
              order by a.number desc limit 1), '')
      from broker_message m join queue_hold k on k.queue_id = m.queue_id and k.lane_id = m.lane_id
     where m.id = any (sorted_ids(v_ids, p_newest, p_limit));
end $$;

-- What is asked for, from some shelves; p_queues null: of all queues. Behind the last row of a full shelf, or behind
-- where a search stopped, others may be missing: such rows are not returned.
create or replace function list_messages(p_queues bigint[], p_rungs bigint[], p_shelves text[], p_low bigint, p_high bigint, p_newest boolean, p_limit int)
returns setof listed language plpgsql stable
set search_path = postroad, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_memoize = off
set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  v_found listed[];
  v_full bigint[];
  v_edge bigint;
begin
  v_found := array(
    select f from list_unfinished(p_rungs, p_low, p_high, p_newest, p_limit) f
     where 'message' = any (p_shelves) and (p_queues is null or cardinality(p_rungs) > 0)
    union all
    select f from list_noted(p_queues, p_low, p_high, p_newest, p_limit) f where 'broker' = any (p_shelves)
    union all
    select f from list_dead(p_queues, p_low, p_high, p_newest, p_limit) f where 'dead' = any (p_shelves)
    union all
    select f from list_history_of_one(p_queues, p_low, p_high, p_newest, p_limit) f
     where 'history' = any (p_shelves) and p_queues is not null
    union all
    select f from list_history_of_many(p_queues, p_low, p_high, p_newest, p_limit) f
     where 'history' = any (p_shelves) and p_queues is not null
    union all
    select f from walk_finished(p_low, p_high, p_newest, p_limit) f
     where 'history' = any (p_shelves) and p_queues is null);
  select array_agg(s.ids[p_limit]) into v_full from (
    select case when p_newest then array_agg(f.id order by f.id desc) else array_agg(f.id order by f.id) end as ids
      from unnest(v_found) f where f.owner is not null group by f.shelf having count(*) >= p_limit) s;
  select case when p_newest then max(x.id) else min(x.id) end into v_edge from (
    select unnest(v_full) as id union all select f.id from unnest(v_found) f where f.owner is null) x;
  if v_edge is not null then
    return next (v_edge, null, '', '', '', 0, 0, 0, 0, 0, '', '')::listed;
  end if;
  return query select f.* from unnest(v_found) f
   where f.owner is not null
     and (v_edge is null or case when p_newest then f.id >= v_edge else f.id <= v_edge end);
end $$;

-- Queues, also those of rungs, and their rungs or these, with what holds their messages.
create or replace function list_scope(p_queues bigint[], p_rungs bigint[]) returns json language plpgsql stable
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
begin
  return json_build_object(
    'queues', (select coalesce(json_agg(json_build_array(q.id, q.tenant, q.name)), '[]') from queue q
                where q.id = any (p_queues || array(select r.queue_id from rung r where r.id = any (p_rungs)))),
    'rungs', (select coalesce(json_agg(json_build_array(
                       r.id, r.queue_id, r.level, r.priority, r.order_group,
                       case when h.ends > now_ms() then h.because else '' end)), '[]')
                from (select * from rung where queue_id = any (p_queues) and p_rungs = '{}'
                      union all
                      select * from rung where id = any (p_rungs)) r
               cross join lateral (select * from hold h where h.rung_id = r.id) h));
end $$;
