-- Whoever takes dead messages takes them by id, as a replay does. A purge took them by their time of death,
-- upkeep and late successes as they lie in the table: of two that met in the middle each could wait for the
-- other, and one of them had to be done again.

-- Those of the dead that are still there, locked.
create function lock_dead_v1(p_ids bigint[]) returns bigint[] language plpgsql as $$
begin
  return array(select id from dead where id = any (p_ids) order by id for update);
end $$;

-- (choose_dead_v1 stays: a purge may be under way while this is put in its place.)
-- Delete the dead that are meant and their tries; one that is not dead is `refused`.
create or replace function purge_v1(p_tenant text, p_queue text, p_reason text, p_error text, p_since bigint,
                         p_until bigint, p_ids bigint[], p_count bigint, p_dry boolean)
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_dead bigint[] := find_dead_v1(p_tenant, p_queue, p_reason, p_error, p_since, p_until, p_ids, p_count);
  v_refused bigint;
begin
  if not p_dry then
    v_dead := lock_dead_v1(v_dead);
  end if;
  select x.id into v_refused from unnest(p_ids) with ordinality x(id, n)
   where x.id <> all (v_dead) order by x.n limit 1;
  if v_refused is not null then
    return json_build_object('now', now_ms(), 'refused', v_refused,
                             'state', not_dead_v1(v_refused, p_tenant));
  end if;
  if not p_dry then
    delete from dead where id = any (v_dead);
    delete from attempt where message_id = any (v_dead);
  end if;
  return json_build_object('now', now_ms(), 'count', cardinality(v_dead));
end $$;

-- Delete a slice of the longest dead beyond so many.
create or replace function trim_v1(p_keep bigint, p_slice int) returns int language plpgsql
set search_path = postroad, pg_temp set jit = off as $$
declare
  v_over bigint;
  v_gone bigint[];
begin
  select count(*) - p_keep into v_over from dead;
  if v_over <= 0 then
    return 0;
  end if;
  v_gone := lock_dead_v1(array(select id from dead order by died_at, id limit least(v_over, p_slice)));
  delete from dead where id = any (v_gone);
  delete from attempt where message_id = any (v_gone);
  return cardinality(v_gone);
end $$;

-- Forget finished work past its time; answers how much went. History goes by the day: a whole
-- partition when nothing in it is younger than the edge.
create or replace function retain_v1(p_history_ms bigint, p_dead_ms bigint, p_limit int) returns int
language plpgsql
set search_path = postroad, pg_temp set jit = off set lock_timeout = '2s' as $$
declare
  v_now bigint := now_ms();
  v_today bigint := v_now / 86400000;
  v_edge bigint := v_now - p_history_ms;
  v_gone int;
  v_dead bigint[];
begin
  perform set_config('synchronous_commit', 'off', true);
  for v_ahead in 0..2 loop
    perform history_day_v1(v_today + v_ahead);
  end loop;
  v_gone := forget_days_v1(v_edge);
  v_dead := lock_dead_v1(array(select id from dead where died_at < v_now - p_dead_ms limit p_limit));
  delete from dead where id = any (v_dead);
  delete from attempt where message_id = any (v_dead);
  delete from idempotency where (queue_id, key) in (
    select queue_id, key from idempotency where expires_at <= v_now limit p_limit);
  delete from tick where (schedule, at) in (
    select schedule, at from tick where decided_at < v_edge limit p_limit);
  delete from process p where greatest(p.beat_at, p.asked_at) <= v_now - 86400000
     and not exists (select from lane l where l.owner = p.id);
  return v_gone + cardinality(v_dead);
end $$;

-- A success counts whenever it comes, once: also out of the dead set, marked late.
create or replace function deliver_v1(p_done bigint[], p_queue bigint[], p_tries int[], p_took int[],
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
    insert into past (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
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
      insert into past (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms, ids, accepted)
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
      insert into past (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms, ids, queues,
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
    perform lock_dead_v1(p_done);
    with risen as (
      delete from dead where id = any (p_done)
      returning id, queue_id, level, attempts - (reason = 'crash_loop')::int as attempts, accepted_at)
    insert into past (id, queue_id, state, late, accepted_at, finished_at, level, attempts, took_ms)
    select r.id, r.queue_id, 'delivered', true, r.accepted_at, p_now, r.level, r.attempts + 1,
           coalesce(p_took[array_position(p_done, r.id)], p_took[1])
      from risen r;
  end if;
end $$;
