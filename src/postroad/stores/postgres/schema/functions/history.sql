-- How history is partitioned by day, and how messages are found in it.

-- Make the partition of a day, if it is not there.
create or replace function make_history_day(p_day bigint) returns void language plpgsql as $$
begin
  if to_regclass('postroad.history_' || p_day) is not null then
    return;
  end if;
  perform pg_advisory_xact_lock(1383031140, 64);
  execute format('create table if not exists history_%s partition of history_batch for values from (%s) to (%s)',
                 p_day, p_day * 86400000, (p_day + 1) * 86400000);
end $$;

-- Drop the partitions in which nothing is younger than the edge; returns how many messages went.
create or replace function drop_history_days(p_edge bigint) returns int language plpgsql as $$
declare
  v_part text;
  v_young boolean;
  v_rows int;
  v_gone int := 0;
begin
  for v_part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'history_batch'::regclass
       and case when c.relname ~ '^history_[0-9]+$'
                then substr(c.relname, 9)::bigint * 86400000 < p_edge end
     order by c.relname
  loop
    execute format('select exists (select from %I where finished_at >= %s)', v_part, p_edge) into v_young;
    continue when v_young;
    begin
      execute format('lock table history_batch in access exclusive mode');
      -- The try that delivered is the row itself.
      execute format('delete from attempt a using %I p left join lateral unnest(p.ids) x(id) on true'
                     ' where a.message_id = coalesce((p.id >> 28 << 28) + x.id, p.id)'
                     ' and (p.attempts > 1 or p.state = ''cancelled'')', v_part);
      if exists (select from message_recipient) then
        execute format('delete from message_recipient r using %I p left join lateral unnest(p.ids) x(id) on true'
                       ' where r.message_id = coalesce((p.id >> 28 << 28) + x.id, p.id)', v_part);
      end if;
      execute format('select coalesce(sum(coalesce(cardinality(ids), 1)), 0) from %I', v_part) into v_rows;
      execute format('drop table %I', v_part);
      v_gone := v_gone + v_rows;
    exception when lock_not_available then
      null;  -- somebody reads history for long: next time
    end;
  end loop;
  return v_gone;
end $$;

-- What is written one message at a time is written to the view: messages that were cancelled or settled, and
-- those that are copied from another road.
create or replace function write_history() returns trigger language plpgsql as $$
begin
  insert into postroad.history_batch (id, queue_id, state, late, accepted_at, finished_at, level, attempts, took_ms)
  values (new.id, new.queue_id, new.state, new.late, new.accepted_at, new.finished_at, new.level,
          new.attempts, new.took_ms);
  return new;
end $$;
create or replace trigger write_history instead of insert on history
  for each row execute function write_history();

-- The finished messages of these ids: rows of their own, or members of a batch.
create or replace function finished(p_ids bigint[]) returns setof history language sql stable as $$
  select p.id, p.queue_id, p.state, p.late, p.accepted_at, p.finished_at, p.level, p.attempts, p.took_ms
    from postroad.history_batch p where p.id = any (p_ids) and p.ids is null
  union all
  select w.id, coalesce(p.queues[x.n], p.queue_id), p.state, p.late,
         coalesce(p.accepted[x.n], p.accepted_at), p.finished_at, p.level, p.attempts,
         coalesce(p.took[x.n], p.took_ms)
    from unnest(p_ids) w(id) join postroad.history_batch p on p.id >> 28 = w.id >> 28 and p.ids is not null
   cross join lateral array_position(p.ids, (w.id & 268435455)::int) x(n)
   where x.n is not null
$$;
