-- Erasing what is stored about a tenant or a recipient, where one statement is not enough.

-- Delete finished messages: rows of their own, and members of batches, which are written anew without them.
-- Nobody else changes rows of history.
create or replace function erase_history(p_ids bigint[]) returns int language plpgsql
set search_path = postroad, pg_temp set jit = off as $$
declare
  v record;
  k int[];
  v_gone int;
begin
  with single as (
    delete from history_batch p where p.id = any (p_ids) and p.ids is null returning 1)
  select count(*) into v_gone from single;
  for v in
    select p.tableoid as part, p.ctid as place, p.* from history_batch p
     where p.ids is not null and p.id >> 28 = any (array(select distinct x.id >> 28 from unnest(p_ids) x(id)))
       for update
  loop
    k := array(select x.n::int from unnest(v.ids) with ordinality x(id, n)
                where (v.id >> 28 << 28) + x.id not in (select unnest(p_ids)) order by x.n);
    continue when cardinality(k) = cardinality(v.ids);
    v_gone := v_gone + cardinality(v.ids) - cardinality(k);
    if cardinality(k) = 0 then
      delete from history_batch p where p.tableoid = v.part and p.ctid = v.place;
      continue;
    end if;
    update history_batch p
       set id = (v.id >> 28 << 28) + v.ids[k[1]], ids = array(select v.ids[x.n] from unnest(k) x(n)),
           queue_id = coalesce(v.queues[k[1]], v.queue_id),
           queues = case when v.queues is not null then array(select v.queues[x.n] from unnest(k) x(n)) end,
           accepted_at = coalesce(v.accepted[k[1]], v.accepted_at),
           accepted = case when v.accepted is not null then array(select v.accepted[x.n] from unnest(k) x(n)) end,
           took_ms = coalesce(v.took[k[1]], v.took_ms),
           took = case when v.took is not null then array(select v.took[x.n] from unnest(k) x(n)) end
     where p.tableoid = v.part and p.ctid = v.place;
  end loop;
  return v_gone;
end $$;

-- Those of these queues that hold no message, and whose lanes nobody owns.
create or replace function empty_queues(p_queues bigint[]) returns setof bigint language sql stable as $$
  select q.id from postroad.queue q
   where q.id = any (p_queues)
     and not exists (select from postroad.rung r join postroad.message m on m.rung_id = r.id
                      where r.queue_id = q.id)
     and not exists (select from postroad.dead d where d.queue_id = q.id)
     and q.id not in (select a.queue_id from postroad.arrival a)
     and not exists (select from postroad.queue_lane ql join postroad.lane l on l.id = ql.lane_id
                      where ql.queue_id = q.id and l.owner is not null)
$$;

-- Delete those of these queues that are empty, with what is set for them; returns how many. A queue that
-- somebody is writing is left for the next time.
create or replace function erase_queues(p_queues bigint[]) returns int language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off set lock_timeout = '2s' as $$
begin
  return drop_queues(array(select empty_queues(lock_for_deletion(p_queues))));
exception when lock_not_available then
  return 0;
end $$;
