-- How the ends of members of batches are counted, and what is sent when all have ended.

-- Store batches, their members and what follows them. The messages that are sent now are accepted in the same
-- transaction. p_queues: those of what is stored later; they are not deleted until it ends, nor after it while
-- something is held for them.
create or replace function put_batches(
  p_rows json, m_id bigint[], m_batch bigint[],
  h_id bigint[], h_batch bigint[], h_role text[], h_queue bigint[], h_lane bigint[], h_order_group int[],
  h_priority int[], h_due bigint[], h_delay bigint[], h_expires bigint[], h_order_key text[],
  h_headers bytea[], h_body bytea[], p_queues bigint[])
returns void language plpgsql set search_path = postroad, pg_temp as $$
begin
  perform pg_advisory_xact_lock_shared(1383031141, x.bucket)
     from (select distinct (q.id & 63)::int as bucket from unnest(p_queues) q(id) order by 1) x;
  perform check_queues(p_queues);
  insert into batch (id, tenant, parent, after, role, state, total, then_id, failure_id, stops, made_at)
  select r.id, r.tenant, r.parent, r.after, r.role, r.state, r.total, r."then", r.on_failure, r.stops, r.made_at_ms
    from json_to_recordset(p_rows) as r(id bigint, tenant text, parent bigint, after bigint, role text, state text,
                                        total int, "then" bigint, on_failure bigint, stops boolean, made_at_ms bigint);
  insert into batch_member (message_id, batch_id) select * from unnest(m_id, m_batch);
  insert into batch_held (id, batch_id, role, queue_id, lane_id, order_group, priority, due, delay_ms, expires_at,
                          order_key, headers, body)
  select * from unnest(h_id, h_batch, h_role, h_queue, h_lane, h_order_group, h_priority, h_due, h_delay, h_expires,
                       h_order_key, h_headers, h_body);
end $$;

-- Count members that have ended: p_done are delivered, p_gone dead or cancelled if their messages are not there any
-- more. Who deletes the row of a member counts it, in the row of its own counter. Returns the batches.
create or replace function end_members(p_counter bigint, p_done bigint[], p_gone bigint[], p_dead boolean[])
returns jsonb language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_batches jsonb;
begin
  with done as (
    delete from batch_member where message_id = any (p_done) returning batch_id),
  gone as (
    delete from batch_member b
     where b.message_id = any (p_gone) and not exists (select from message m where m.id = b.message_id)
    returning b.batch_id, coalesce(p_dead[array_position(p_gone, b.message_id)], p_dead[1]) as dead),
  ended as (
    select batch_id, 1 as delivered, 0 as dead, 0 as cancelled from done
    union all
    select batch_id, 0, dead::int, (not dead)::int from gone),
  counted as (
    insert into batch_count as c (batch_id, counter, delivered, dead, cancelled)
    select batch_id, p_counter, sum(delivered), sum(dead), sum(cancelled) from ended group by batch_id order by batch_id
    on conflict (batch_id, counter) do update
       set delivered = c.delivered + excluded.delivered, dead = c.dead + excluded.dead,
           cancelled = c.cancelled + excluded.cancelled
    returning c.batch_id)
  select jsonb_agg(batch_id) into v_batches from counted;
  return coalesce(v_batches, '[]');
end $$;

-- The batches whose members these messages are: to be asked when they have ended.
create or replace function batches_of(p_ids bigint[]) returns bigint[] language sql stable
set search_path = postroad, pg_temp as $$
  select coalesce(array_agg(distinct batch_id), '{}') from batch_member where message_id = any (p_ids)
$$;

-- End those of these batches whose members have all ended; p_ids null: of the next thousand open ones after p_after,
-- and `after` is where to go on. This is a transaction of its own, after the one that counted: of two that count the
-- last members at once, neither sees what the other has counted. Returns which ended or are never sent, and which batches
-- are to be asked next: those that count them, and empty ones. They are taken in the order of the batches that count
-- them, whose counters they lock: so no two wait for each other.
create or replace function close_batches(p_ids bigint[], p_after bigint) returns json language plpgsql
set search_path = postroad, pg_temp set jit = off as $$
declare
  v_ids bigint[] := coalesce(p_ids, array(select id from batch where state = 'open' and id > p_after order by id limit 1000));
  v_id bigint;
  v_ended bigint[] := '{}';
  v_next bigint[] := '{}';
begin
  for v_id in
    select b.id from batch b
     where b.state = 'open' and b.id = any (v_ids)
       and b.total <= (select coalesce(sum(c.delivered + c.dead + c.cancelled), 0) from batch_count c
                        where c.batch_id = b.id)
     order by b.parent, b.id
  loop
    perform from batch where id = v_id and state = 'open' for update;
    if found then
      v_next := v_next || close_batch(v_id, now_ms());
      v_ended := v_ended || v_id;
    end if;
  end loop;
  v_ended := v_ended || array(
    with recursive gone(id) as (
      select id from batch where after = any (v_ended) and after > 0 and state = 'skipped'
      union select b.id from batch b join gone g on b.after = g.id and b.after > 0)
    select id from gone);
  return json_build_object('now', now_ms(), 'ended', v_ended, 'next', v_next,
                           'after', case when p_ids is null and cardinality(v_ids) = 1000 then v_ids[1000] else 0 end);
end $$;

-- End one batch whose row is locked: write its counts, store what follows, and hand its place in the batch around
-- it to that, or count it there.
create or replace function close_batch(p_id bigint, p_now bigint) returns bigint[] language plpgsql as $$
declare
  b batch;
  n record;
  v_role text;
  v_follow bigint;
  v_next bigint[];
begin
  select * into b from batch where id = p_id;
  select coalesce(sum(delivered), 0) as delivered, coalesce(sum(dead), 0) as dead,
         coalesce(sum(cancelled), 0) as cancelled into n from batch_count where batch_id = p_id;
  if n.dead + n.cancelled > 0 and (b.failure_id > 0 or b.stops) then
    v_follow := b.failure_id;
    v_role := 'on_failure';
  else
    v_follow := b.then_id;
    v_role := 'then';
  end if;
  if not exists (select from batch_held where id = v_follow)
     and not exists (select from batch where id = v_follow and state = 'waiting') then
    v_follow := 0;  -- none was given, or it was erased
  end if;
  update batch set state = 'ended', ended_at = p_now, delivered = n.delivered, dead = n.dead,
                   cancelled = n.cancelled, sent = case when v_follow > 0 then v_role else '' end
   where id = p_id;
  delete from batch_count where batch_id = p_id;
  v_next := release_held(p_id, v_role, p_now);
  perform skip_batches(array(select id from batch where after = p_id and after > 0 and state = 'waiting'), p_now);
  delete from batch_member where message_id in (select id from batch_held where batch_id = p_id);
  delete from batch_held where batch_id = p_id;
  if b.parent > 0 and v_follow > 0 then
    update batch_member set message_id = v_follow where message_id = p_id;
  elsif b.parent > 0 then
    perform end_members(0, case when n.dead + n.cancelled = 0 then array[p_id] else '{}' end,
                        case when n.dead + n.cancelled > 0 then array[p_id] else '{}' end, array[n.dead > 0]);
    v_next := v_next || b.parent;
  end if;
  return v_next;
end $$;

-- Store what follows a batch that ended this way, as arrivals; returns the batches among it that are empty.
create or replace function release_held(p_batch bigint, p_role text, p_now bigint) returns bigint[] language plpgsql as $$
declare
  v_empty bigint[];
begin
  with held as (delete from batch_held where batch_id = p_batch and role = p_role returning *)
  insert into arrival (id, queue_id, lane_id, order_group, priority, accepted_at, due, expires_at, order_key,
                       key, digest, headers, body)
  select id, queue_id, lane_id, order_group, priority, p_now, greatest(due, p_now + delay_ms), expires_at, order_key,
         '', '', headers, body from held order by id;
  if found then
    perform pg_notify('postroad', '{"arrivals": true}');
  end if;
  with opened as (
    update batch set state = 'open' where after = p_batch and after > 0 and role = p_role and state = 'waiting' returning id, total)
  select coalesce(array_agg(id) filter (where total = 0), '{}') into v_empty from opened;
  return v_empty;
end $$;

-- Batches that are never sent, with all that follows them.
create or replace function skip_batches(p_ids bigint[], p_now bigint) returns void language plpgsql as $$
declare
  v_all bigint[];
  v_held bigint[];
begin
  if cardinality(p_ids) = 0 then
    return;
  end if;
  with recursive gone(id) as (
    select unnest(p_ids) union select b.id from batch b join gone g on b.after = g.id and b.after > 0)
  select array_agg(id) into v_all from gone;
  with held as (delete from batch_held where batch_id = any (v_all) returning id)
  select array_agg(id) into v_held from held;
  delete from batch_member where message_id = any (v_all || v_held);
  update batch set state = 'skipped', ended_at = p_now where id = any (v_all) and state in ('waiting', 'filling');
end $$;
