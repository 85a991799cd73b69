-- Delivered messages go to history in batches: those of one record that were accepted in the same
-- moment (an id without its last 28 bits: 64 ms) are one row with one index entry. Such a row of its
-- own for each message was half of what a record cost (docs/decisions/038-history-in-batches.md).

-- A row is a message as it was, or several that are alike but for the following. `id` is the first of
-- them, `ids` the last 28 bits of all; `queues`, `accepted` and `took` are null where it is the same
-- for all.
alter table history rename to past;
alter index history_id rename to past_id;
alter index history_finished rename to past_finished;
alter table past
  add column ids int[], add column queues bigint[], add column accepted bigint[], add column took int[],
  add check (cardinality(queues) = cardinality(ids) and cardinality(accepted) = cardinality(ids)
             and cardinality(took) = cardinality(ids)) not valid;
-- Where they are long they lie beside the row as they are: to compress them cost as much as was won.
alter table past
  alter column ids set storage external, alter column queues set storage external,
  alter column accepted set storage external, alter column took set storage external;
create index past_moment on past ((id >> 28)) where ids is not null;

-- One row a message, as people ask for it; by id it is a walk over everything (finished_v1 is not).
create view history as
select coalesce((p.id >> 28 << 28) + x.id, p.id) as id, coalesce(x.queue, p.queue_id) as queue_id, p.state,
       p.late, coalesce(x.accepted, p.accepted_at) as accepted_at, p.finished_at, p.level, p.attempts,
       coalesce(x.took, p.took_ms) as took_ms
  from past p
  left join lateral unnest(p.ids, p.queues, p.accepted, p.took) x(id, queue, accepted, took) on true;
alter view history alter column late set default false;

-- What is written message by message is still written to history: what was cancelled or settled, a
-- copy of another road, processes of before.
create function write_history() returns trigger language plpgsql as $$
begin
  insert into postroad.past (id, queue_id, state, late, accepted_at, finished_at, level, attempts, took_ms)
  values (new.id, new.queue_id, new.state, new.late, new.accepted_at, new.finished_at, new.level,
          new.attempts, new.took_ms);
  return new;
end $$;
create trigger write_history instead of insert on history for each row execute function write_history();

-- The finished of these ids: by themselves, or among the batches of their moments.
create function finished_v1(p_ids bigint[]) returns setof history language sql stable as $$
  select p.id, p.queue_id, p.state, p.late, p.accepted_at, p.finished_at, p.level, p.attempts, p.took_ms
    from postroad.past p where p.id = any (p_ids) and p.ids is null
  union all
  select w.id, coalesce(p.queues[x.n], p.queue_id), p.state, p.late,
         coalesce(p.accepted[x.n], p.accepted_at), p.finished_at, p.level, p.attempts,
         coalesce(p.took[x.n], p.took_ms)
    from unnest(p_ids) w(id) join postroad.past p on p.id >> 28 = w.id >> 28 and p.ids is not null
   cross join lateral array_position(p.ids, (w.id & 268435455)::int) x(n)
   where x.n is not null
$$;

create or replace function history_day_v1(p_day bigint) returns void language plpgsql as $$
begin
  if to_regclass('postroad.history_' || p_day) is not null then
    return;
  end if;
  perform pg_advisory_xact_lock(1383031140, 64);
  execute format('create table if not exists history_%s partition of past for values from (%s) to (%s)',
                 p_day, p_day * 86400000, (p_day + 1) * 86400000);
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
    with risen as (
      delete from dead where id = any (p_done)
      returning id, queue_id, level, attempts - (reason = 'crash_loop')::int as attempts, accepted_at)
    insert into past (id, queue_id, state, late, accepted_at, finished_at, level, attempts, took_ms)
    select r.id, r.queue_id, 'delivered', true, r.accepted_at, p_now, r.level, r.attempts + 1,
           coalesce(p_took[array_position(p_done, r.id)], p_took[1])
      from risen r;
  end if;
end $$;

-- As before (008).
create or replace function forget_days_v1(p_edge bigint) returns int language plpgsql as $$
declare
  v_part text;
  v_young boolean;
  v_rows int;
  v_gone int := 0;
begin
  for v_part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'past'::regclass
       and case when c.relname ~ '^history_[0-9]+$'
                then substr(c.relname, 9)::bigint * 86400000 < p_edge end
     order by c.relname
  loop
    execute format('select exists (select from %I where finished_at >= %s)', v_part, p_edge) into v_young;
    continue when v_young;
    begin
      execute format('lock table past in access exclusive mode');
      -- The try that delivered is the row itself.
      execute format('delete from attempt a using %I p left join lateral unnest(p.ids) x(id) on true'
                     ' where a.message_id = coalesce((p.id >> 28 << 28) + x.id, p.id)'
                     ' and (p.attempts > 1 or p.state = ''cancelled'')', v_part);
      execute format('select coalesce(sum(coalesce(cardinality(ids), 1)), 0) from %I', v_part) into v_rows;
      execute format('drop table %I', v_part);
      v_gone := v_gone + v_rows;
    exception when lock_not_available then
      null;  -- somebody reads history for long: next time
    end;
  end loop;
  return v_gone;
end $$;

-- Who asks for a message by its id. As before: not_dead_v1 (011), message_facts_v1 (013), cancel_v1 (025).
create or replace function not_dead_v1(p_id bigint, p_tenant text) returns text language sql stable as $$
  select x.state from (
    select case when r.level < 0 then 'uncertain' else 'not finished' end as state, r.queue_id
      from message m join rung r on r.id = m.rung_id where m.id = p_id
    union all select 'not finished', a.queue_id from arrival a where a.id = p_id
    union all select h.state, h.queue_id from finished_v1(array[p_id]) h) x
   where (select p_tenant is null or q.tenant = p_tenant from queue q where q.id = x.queue_id) limit 1
$$;

create or replace function message_facts_v1(p_tenant text, p_id bigint) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_now bigint := now_ms();
  v_tries json := tries_v1(p_id);
  v_queue queue;
  v_at record;
  v_rest jsonb;
begin
  select * into v_at from (
    select 'live' as kind, m.accepted_at, r.queue_id, r.lane_id, jsonb_build_object('live', jsonb_build_object(
             'level', m.level, 'attempts', m.attempts, 'due_ms', m.due, 'expires_at_ms', m.expires_at,
             'uncertain', r.level < 0, 'held', r.held,
             'before', case when r.slot = 0 then 0 else coalesce(
                (select b.id from message b where b.rung_id = r.id and (b.place, b.id) < (m.place, m.id)
                  order by b.place desc, b.id desc limit 1), 0) end,
             'others_due', others_due_v1(r.lane_id, r.queue_id, greatest(m.due, v_now), m.id, r.id))) as rest
      from message m join rung r on r.id = m.rung_id where m.id = p_id
    union all
    select 'live', a.accepted_at, a.queue_id, a.lane_id, jsonb_build_object('live', jsonb_build_object(
             'level', 0, 'attempts', 0, 'due_ms', a.due, 'expires_at_ms', a.expires_at,
             'uncertain', false, 'held', '', 'before', 0, 'others_due', 0))
      from arrival a where a.id = p_id
    union all
    select 'dead', d.accepted_at, d.queue_id, d.lane_id, jsonb_build_object('ended', jsonb_build_object(
             'state', 'dead', 'at_ms', d.died_at, 'level', d.level, 'attempts', d.attempts,
             'reason', d.reason))
      from dead d where d.id = p_id
    union all
    select h.state, h.accepted_at, h.queue_id, null, jsonb_build_object('ended', jsonb_build_object(
             'state', h.state, 'at_ms', h.finished_at, 'level', h.level, 'attempts', h.attempts,
             'late', h.late), 'took', h.took_ms)
      from finished_v1(array[p_id]) h
    limit 1) x;
  if v_at is null then
    return null;
  end if;
  select * into v_queue from queue where id = v_at.queue_id;
  if v_queue.tenant <> p_tenant then
    return null;
  end if;
  if v_at.kind = 'delivered' then  -- the try that delivered is the history row itself
    v_tries := v_tries::jsonb || jsonb_build_object(
      'number', v_at.rest -> 'ended' -> 'attempts', 'level', v_at.rest -> 'ended' -> 'level',
      'started_at_ms', (v_at.rest -> 'ended' ->> 'at_ms')::bigint - (v_at.rest ->> 'took')::bigint,
      'outcome', 'delivered', 'status', 0, 'took_ms', v_at.rest -> 'took');
  end if;
  return v_at.rest || jsonb_build_object(
    'id', p_id, 'accepted_at_ms', v_at.accepted_at, 'queue', queue_v1(v_queue),
    'paused_at_ms', v_queue.paused_at, 'tries', v_tries, 'lane', lane_state_v1(v_at.lane_id));
end $$;

create or replace function cancel_v1(p_tenant text, p_ids bigint[]) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_lanes bigint[];
  v_free bigint[];
  v_asked jsonb;
  v_states jsonb;
  v_rings jsonb := '[]';
begin
  v_lanes := array(select distinct (select r.lane_id from rung r where r.id = m.rung_id)
                     from message m where m.id = any (p_ids));
  perform from lane where id = any (v_lanes) order by id for share;
  with live as materialized (
    select m.id, r.lane_id, r.level, l.owner
      from (select id, rung_id from message where id = any (p_ids) offset 0) m
     cross join lateral (select lane_id, level, queue_id from rung where id = m.rung_id limit 1) r
     cross join lateral (select owner from lane where id = r.lane_id limit 1) l
     cross join lateral (select tenant from queue where id = r.queue_id limit 1) q
     where q.tenant = p_tenant)
  select array_agg(id) filter (where owner is null or level < 0),
         jsonb_agg(jsonb_build_array(owner, lane_id, 0, 0, 0, id)) filter (where owner is not null and level >= 0),
         jsonb_object_agg(id, case when owner is null or level < 0 then 'cancelled' else 'pending' end)
    into v_free, v_asked, v_states from live;
  update message set unwanted = 1
   where id = any (p_ids) and unwanted = 0 and coalesce(v_states, '{}') ->> id::text = 'pending';
  if v_free is not null then
    v_rings := bury_v1(v_free, null, now_ms());
  end if;
  return json_build_object(
    'now', now_ms(), 'rings', v_rings || coalesce(v_asked, '[]'),
    'states', coalesce(v_states, '{}') || (
      select coalesce(jsonb_object_agg(f.id, f.state), '{}') from (
        select h.id, case h.state when 'cancelled' then 'cancelled' else 'final' end as state, h.queue_id
          from finished_v1(p_ids) h
        union all
        select d.id, 'final', d.queue_id from dead d where d.id = any (p_ids)) f
       where (select q.tenant = p_tenant from queue q where q.id = f.queue_id)
         and not coalesce(v_states, '{}') ? f.id::text));
end $$;
