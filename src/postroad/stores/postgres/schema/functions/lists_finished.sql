-- Finished messages in a page of a list: rows of history, by moments (lists.sql says what these functions return).

-- Finished messages of some queues in rows of history that have one queue. A message finishes after it was
-- accepted: older days need not be searched.
create or replace function list_history_of_one(p_queues bigint[], p_low bigint, p_high bigint, p_newest boolean, p_limit int)
returns setof listed language plpgsql stable as $$
begin
  if p_newest then
    return query
      select y.id, h.queue_id, 'history', h.state, '', coalesce(y.accepted, h.accepted_at), 0::bigint, h.finished_at,
             h.level, h.attempts, '', coalesce((
               select a.error from attempt a where (h.attempts > 1 or h.state = 'cancelled') and a.message_id = y.id
                order by a.number desc limit 1), '')
        from unnest(p_queues) q(id)
       cross join lateral (
         select r.* from history_batch r
          where r.queues is null and r.queue_id = q.id and r.id >> 28 between p_low >> 28 and p_high >> 28
            and r.finished_at >= (p_low >> 22) + 1704067199936
          order by r.id >> 28 desc fetch first p_limit rows with ties) h
       cross join lateral (
         select h.id, h.accepted_at where h.ids is null
         union all
         select (h.id >> 28 << 28) + x.id, x.accepted from unnest(h.ids, h.accepted) x(id, accepted)) y(id, accepted)
       where y.id between p_low and p_high;
  else
    return query
      select y.id, h.queue_id, 'history', h.state, '', coalesce(y.accepted, h.accepted_at), 0::bigint, h.finished_at,
             h.level, h.attempts, '', coalesce((
               select a.error from attempt a where (h.attempts > 1 or h.state = 'cancelled') and a.message_id = y.id
                order by a.number desc limit 1), '')
        from unnest(p_queues) q(id)
       cross join lateral (
         select r.* from history_batch r
          where r.queues is null and r.queue_id = q.id and r.id >> 28 between p_low >> 28 and p_high >> 28
            and r.finished_at >= (p_low >> 22) + 1704067199936
          order by r.id >> 28 fetch first p_limit rows with ties) h
       cross join lateral (
         select h.id, h.accepted_at where h.ids is null
         union all
         select (h.id >> 28 << 28) + x.id, x.accepted from unnest(h.ids, h.accepted) x(id, accepted)) y(id, accepted)
       where y.id between p_low and p_high;
  end if;
end $$;

-- Finished messages of some queues in rows of history that have several. The first 16 rows tell whether these
-- queues are in many of them: then it reads row after row, else by the index of queues.
create or replace function list_history_of_many(p_queues bigint[], p_low bigint, p_high bigint, p_newest boolean, p_limit int)
returns setof listed language plpgsql stable as $$
declare
  v_looked int;
  v_hits int;
  v_edge bigint;
  v_rare boolean;
begin
  if p_newest then
    select count(*), count(*) filter (where x.hit), min(x.moment) into v_looked, v_hits, v_edge from (
      select h.id >> 28 as moment, h.queues && p_queues as hit from history_batch h
       where h.ids is not null and h.queues is not null and h.id >> 28 between p_low >> 28 and p_high >> 28
         and h.finished_at >= (p_low >> 22) + 1704067199936
       order by h.id >> 28 desc fetch first 16 rows with ties) x;
    v_rare := v_looked >= 16 and v_hits < 4;
    if v_looked >= 16 and not v_rare then
      v_edge := (select h.id >> 28 from history_batch h
                  where h.ids is not null and h.queues is not null and h.id >> 28 between p_low >> 28 and p_high >> 28
                    and h.finished_at >= (p_low >> 22) + 1704067199936
                  order by h.id >> 28 desc offset least(4096, 16 * p_limit / v_hits + 16) limit 1);
    end if;
  else
    select count(*), count(*) filter (where x.hit), max(x.moment) into v_looked, v_hits, v_edge from (
      select h.id >> 28 as moment, h.queues && p_queues as hit from history_batch h
       where h.ids is not null and h.queues is not null and h.id >> 28 between p_low >> 28 and p_high >> 28
         and h.finished_at >= (p_low >> 22) + 1704067199936
       order by h.id >> 28 fetch first 16 rows with ties) x;
    v_rare := v_looked >= 16 and v_hits < 4;
    if v_looked >= 16 and not v_rare then
      v_edge := (select h.id >> 28 from history_batch h
                  where h.ids is not null and h.queues is not null and h.id >> 28 between p_low >> 28 and p_high >> 28
                    and h.finished_at >= (p_low >> 22) + 1704067199936
                  order by h.id >> 28 offset least(4096, 16 * p_limit / v_hits + 16) limit 1);
    end if;
  end if;
  if v_rare then
    return query select * from list_history_of_rare(p_queues, p_low, p_high, p_newest, p_limit);
    return;
  end if;
  if v_looked >= 16 and v_edge is not null then
    if p_newest then
      p_low := greatest(p_low, v_edge << 28);
    else
      p_high := least(p_high, ((v_edge + 1) << 28) - 1);
    end if;
    return next (case when p_newest then p_low else p_high end,
                 null, 'history', 'delivered', '', 0, 0, 0, 0, 0, '', '')::listed;
  end if;
  return query
    select x.* from (
      select h.id, h.state, h.accepted_at, h.finished_at, h.level, h.attempts, h.ids, h.queues, h.accepted
        from history_batch h
       where h.queues && p_queues and h.ids is not null and h.id >> 28 between p_low >> 28 and p_high >> 28
         and h.finished_at >= (p_low >> 22) + 1704067199936) h
     cross join lateral (
       select y.id, h.queues[n.n], 'history', h.state, '', coalesce(h.accepted[n.n], h.accepted_at), 0::bigint,
              h.finished_at, h.level, h.attempts, '', coalesce((
                select a.error from attempt a where h.attempts > 1 and a.message_id = y.id
                 order by a.number desc limit 1), '')
         from unnest(p_queues) q(id) cross join lateral unnest(array_positions(h.queues, q.id)) n(n)
        cross join lateral (select (h.id >> 28 << 28) + h.ids[n.n]) y(id)
        where y.id between p_low and p_high) x;
end $$;

-- The same by the index of queues: all rows that have one of them, then the first of these. Days are not skipped by
-- finished_at: its BRIN index would make the bitmap lossy, and every row near a match would be read.
create or replace function list_history_of_rare(p_queues bigint[], p_low bigint, p_high bigint, p_newest boolean, p_limit int)
returns setof listed language plpgsql stable
set enable_indexscan = off set enable_bitmapscan = on as $$
begin
  if p_newest then
    return query
      select x.* from (
        select h.id, h.state, h.accepted_at, h.finished_at, h.level, h.attempts, h.ids, h.queues, h.accepted
          from history_batch h
         where h.queues && p_queues and h.id >> 28 between p_low >> 28 and p_high >> 28
         order by h.id >> 28 desc fetch first p_limit rows with ties) h
       cross join lateral (
         select y.id, h.queues[n.n], 'history', h.state, '', coalesce(h.accepted[n.n], h.accepted_at), 0::bigint,
                h.finished_at, h.level, h.attempts, '', coalesce((
                  select a.error from attempt a where h.attempts > 1 and a.message_id = y.id
                   order by a.number desc limit 1), '')
           from unnest(p_queues) q(id) cross join lateral unnest(array_positions(h.queues, q.id)) n(n)
          cross join lateral (select (h.id >> 28 << 28) + h.ids[n.n]) y(id)
          where y.id between p_low and p_high) x;
  else
    return query
      select x.* from (
        select h.id, h.state, h.accepted_at, h.finished_at, h.level, h.attempts, h.ids, h.queues, h.accepted
          from history_batch h
         where h.queues && p_queues and h.id >> 28 between p_low >> 28 and p_high >> 28
         order by h.id >> 28 fetch first p_limit rows with ties) h
       cross join lateral (
         select y.id, h.queues[n.n], 'history', h.state, '', coalesce(h.accepted[n.n], h.accepted_at), 0::bigint,
                h.finished_at, h.level, h.attempts, '', coalesce((
                  select a.error from attempt a where h.attempts > 1 and a.message_id = y.id
                   order by a.number desc limit 1), '')
           from unnest(p_queues) q(id) cross join lateral unnest(array_positions(h.queues, q.id)) n(n)
          cross join lateral (select (h.id >> 28 << 28) + h.ids[n.n]) y(id)
          where y.id between p_low and p_high) x;
  end if;
end $$;

-- The next finished messages of all queues: so many rows of history, and the rest of the last moment.
create or replace function walk_finished(p_low bigint, p_high bigint, p_newest boolean, p_limit int)
returns setof listed language plpgsql stable as $$
declare
  v_from bigint := p_low >> 28 << 28;
  v_to bigint := p_high;
begin
  if p_newest then
    v_from := coalesce((select h.id >> 28 << 28 from history_batch h where h.id between v_from and v_to
                         order by h.id desc offset p_limit limit 1), v_from);
  else
    v_to := coalesce((select (((h.id >> 28) + 1) << 28) - 1 from history_batch h where h.id between v_from and v_to
                       order by h.id offset p_limit limit 1), v_to);
  end if;
  return query
    select y.id, coalesce(y.queue, h.queue_id), 'history', h.state, '', coalesce(y.accepted, h.accepted_at),
           0::bigint, h.finished_at, h.level, h.attempts, '', coalesce((
             select a.error from attempt a where (h.attempts > 1 or h.state = 'cancelled') and a.message_id = y.id
              order by a.number desc limit 1), '')
      from history_batch h
     cross join lateral (
       select h.id, h.queue_id, h.accepted_at where h.ids is null
       union all
       select (h.id >> 28 << 28) + x.id, x.queue, x.accepted
         from unnest(h.ids, h.queues, h.accepted) x(id, queue, accepted)) y(id, queue, accepted)
     where h.id between v_from and v_to and y.id between p_low and p_high;
end $$;
