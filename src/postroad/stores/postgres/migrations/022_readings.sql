-- What a drain costs the server: readings without windows, results without repeated columns.

-- The due messages of rungs after their cursors, in order. Neither a head that is not due nor a body
-- too large to come along with all the others comes with its body: the one has no headers either and
-- ends its reading, the other is to be asked for by fetch_v1. (That one adds bodies up in a window,
-- which took as long as the reading itself.)
create function fetch_v2(p_rung bigint[], p_place bigint[], p_id bigint[], p_limit int[])
returns table (id bigint, rung bigint, queue bigint, lane bigint, level int, attempts int, marks int,
               place bigint, due bigint, accepted_at bigint, expires_at bigint, body bytea,
               headers bytea, want int)
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_now bigint := now_ms();
begin
  return query
  select m.id, w.rung, r.queue_id, r.lane_id, m.level, m.attempts, m.marks, m.place, m.due,
         m.accepted_at, m.expires_at,
         case when m.due <= v_now and octet_length(m.body) <= 4194304 / w.most then m.body end,
         case when m.due <= v_now then m.headers end, w.n::int
    from unnest(p_rung, p_place, p_id, p_limit) with ordinality w(rung, place, id, most, n)
   cross join lateral (select g.queue_id, g.lane_id, g.slot from rung g where g.id = w.rung limit 1) r
   cross join lateral (select * from message y
                        where y.rung_id = w.rung and (y.place, y.id) > (w.place, w.id)
                          and y.place <= case when r.slot > 0 then never() else v_now end
                        order by y.place, y.id limit w.most) m
  union all
  select 0, w.rung, 0, 0, 0, 0, 0, m.place, m.due, 0, 0, null, null, w.n::int
    from unnest(p_rung) with ordinality w(rung, n)
   cross join lateral (select g.slot from rung g where g.id = w.rung limit 1) r
   cross join lateral (select y.place, y.due from message y
                        where y.rung_id = w.rung and y.place > v_now and r.slot = 0
                        order by y.place, y.id limit 1) m;
end $$;

-- As before (007), but columns that are the same for all come once.
create or replace function deliver_v1(p_done bigint[], p_queue bigint[], p_tries int[], p_took int[],
                                      p_now bigint)
returns void language plpgsql set enable_nestloop = off as $$
declare
  v_gone int;
begin
  with gone as (
    -- By id = any: joined to the results it was planned as a walk over the whole table once ANALYZE
    -- had seen the table empty.
    delete from message where id = any (p_done) returning id, rung_id, level, attempts, accepted_at),
  past as (
    insert into history (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
    select g.id, coalesce(x.queue, p_queue[1]), 'delivered', g.accepted_at, p_now, g.level,
           -- Late: another owner has tried meanwhile; a verdict of doubt has counted this try.
           case when g.attempts > coalesce(x.tries, p_tries[1])
                then g.attempts + (select (r.step >= 0)::int from rung r where r.id = g.rung_id)
                else coalesce(x.tries, p_tries[1]) + 1 end, coalesce(x.took, p_took[1])
      from gone g
      join unnest(p_done, p_queue, p_tries, p_took) x(id, queue, tries, took) on x.id = g.id)
  select count(*) into v_gone from gone;
  if v_gone < cardinality(p_done) then
    with risen as (
      delete from dead where id = any (p_done)
      returning id, queue_id, level, attempts - (reason = 'crash_loop')::int as attempts, accepted_at)
    insert into history (id, queue_id, state, late, accepted_at, finished_at, level, attempts, took_ms)
    select r.id, r.queue_id, 'delivered', true, r.accepted_at, p_now, r.level, r.attempts + 1,
           coalesce(x.took, p_took[1])
      from risen r join unnest(p_done, p_took) x(id, took) on x.id = r.id;
  end if;
end $$;
