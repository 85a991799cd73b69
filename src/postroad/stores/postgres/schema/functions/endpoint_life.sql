-- The life of endpoints.

-- Numbers of a list in JSON; none of null.
create or replace function numbers(p_list json) returns bigint[] language sql immutable as $$
  select coalesce(array_agg(e.value::bigint order by e.n), '{}')
    from json_array_elements_text(p_list) with ordinality e(value, n)
$$;

-- Change the life of an endpoint, unless it has changed since (p_version): pause or resume its queue (null: neither;
-- resumed, it is unblocked too), set or lift the limit of its draining, and store the operational event. All locks are taken first: the sets that the event
-- was matched against, then all lanes, in order. One that is being deleted expires: should the process be killed, another
-- ends it.
create or replace function endpoint_turn(
  p_id bigint, p_version bigint, p_queue bigint, p_state text, p_by text, p_reason text, p_changed bigint,
  p_noticed bigint, p_spell bigint, p_draining bigint, p_secret bigint, p_failing bigint, p_paused boolean,
  p_event json, p_drain json default null)
returns json language plpgsql set search_path = postroad, pg_temp set jit = off as $$
declare
  v_said jsonb := jsonb_build_object('now', now_ms(), 'rings', '[]'::jsonb);
  v_told jsonb;
begin
  if p_state = 'deleting' then  -- from now on it matches nothing
    perform raise_set(tenant) from endpoint where id = p_id;
  elsif p_event is not null then
    perform lock_sets(p_event ->> 'tenant');
  end if;
  perform lock_exclusive(array(select lane_id from queue_lane where queue_id = p_queue)
                         || numbers(p_event -> 'lanes'));
  perform from endpoint where id = p_id and version = p_version for update;
  if not found then
    return v_said || jsonb_build_object('turned', 'changed');
  end if;
  if p_event is not null then
    v_told := publish(
      (p_event ->> 'id')::bigint, p_event ->> 'tenant', p_event ->> 'type', convert_to(p_event ->> 'body', 'UTF8'),
      convert_to(p_event ->> 'channels', 'UTF8'), (p_event ->> 'made')::bigint, (p_event ->> 'first')::bigint,
      (p_event ->> 'last')::bigint, (p_event ->> 'matched')::int, (p_event ->> 'endpoints')::bigint,
      (p_event ->> 'types')::bigint, '', '', numbers(p_event -> 'lanes'), numbers(p_event -> 'queues'),
      numbers(p_event -> 'groups')::int[], convert_to(p_event ->> 'headers', 'UTF8'), (p_event ->> 'own')::int)::jsonb;
    if v_told ? 'moved' then
      return v_said || jsonb_build_object('turned', 'moved');
    end if;
    v_said := v_said || jsonb_build_object('rings', coalesce(v_told -> 'rings', '[]'));
  end if;
  update endpoint
     set state = p_state, disabled_by = p_by, reason = p_reason, changed_at = p_changed, noticed_at = p_noticed,
         spell_since = p_spell, draining_since = p_draining, secret_notice_at = p_secret,
         failing_since = coalesce(p_failing, failing_since), version = version + 1,
         expires_at = case when p_state = 'deleting' then least(expires_at, p_changed) else expires_at end
   where id = p_id;
  if p_paused is not null then
    v_said := v_said || jsonb_build_object(
      'rings', (v_said -> 'rings') || (pause_queue(p_queue, p_paused)::jsonb -> 'rings'));
    if not p_paused then
      v_said := v_said || jsonb_build_object(
        'rings', (v_said -> 'rings') || (unblock_queue(p_queue)::jsonb -> 'rings'));
    end if;
  end if;
  if p_drain is not null then
    v_said := v_said || jsonb_build_object(
      'rings', (v_said -> 'rings') || (limit_drain(p_queue, p_drain)::jsonb -> 'rings'));
  end if;
  return v_said || jsonb_build_object('turned', 'done');
end $$;

-- Add counts to the hours of endpoints (by their queues), and begin, prolong or end their spells of failures.
create or replace function endpoint_count(p_hours json) returns int language plpgsql
set search_path = postroad, pg_temp set jit = off as $$
begin
  insert into endpoint_hour
  select e.id, h.at,
         h.delivered, h.failed, h.rejected, h.quota, h.unreachable, h.unknown, h.later, h.dead, h.took0,
         h.took1, h.took2, h.took3, h.took4, h.took5, h.took6, h.took7, h.took8, h.took9, h.took10,
         h.took11, h.took12, h.took13, h.took14, h.took15, h.took16, h.took17, h.setup
    from json_populate_recordset(null::endpoint_hour, p_hours) h
    join endpoint e on e.queue_id = h.endpoint_id
   order by e.id, h.at
  on conflict (endpoint_id, at) do update set
    delivered = endpoint_hour.delivered + excluded.delivered, failed = endpoint_hour.failed +
    excluded.failed, rejected = endpoint_hour.rejected + excluded.rejected, quota = endpoint_hour.quota +
    excluded.quota, unreachable = endpoint_hour.unreachable + excluded.unreachable, unknown =
    endpoint_hour.unknown + excluded.unknown, later = endpoint_hour.later + excluded.later, dead =
    endpoint_hour.dead + excluded.dead, took0 = endpoint_hour.took0 + excluded.took0, took1 =
    endpoint_hour.took1 + excluded.took1, took2 = endpoint_hour.took2 + excluded.took2, took3 =
    endpoint_hour.took3 + excluded.took3, took4 = endpoint_hour.took4 + excluded.took4, took5 =
    endpoint_hour.took5 + excluded.took5, took6 = endpoint_hour.took6 + excluded.took6, took7 =
    endpoint_hour.took7 + excluded.took7, took8 = endpoint_hour.took8 + excluded.took8, took9 =
    endpoint_hour.took9 + excluded.took9, took10 = endpoint_hour.took10 + excluded.took10, took11 =
    endpoint_hour.took11 + excluded.took11, took12 = endpoint_hour.took12 + excluded.took12, took13 =
    endpoint_hour.took13 + excluded.took13, took14 = endpoint_hour.took14 + excluded.took14, took15 =
    endpoint_hour.took15 + excluded.took15, took16 = endpoint_hour.took16 + excluded.took16, took17 =
    endpoint_hour.took17 + excluded.took17, setup = endpoint_hour.setup + excluded.setup;
  perform from endpoint where queue_id in (
      select m.endpoint_id from json_to_recordset(p_hours) as m(endpoint_id bigint)) order by id for update;
  update endpoint e
     set failing_since = case when m.failing = 0 then 0 when m.succeeded or e.failing_since = 0 then m.failing
                              else e.failing_since end,
         failed_at = greatest(e.failed_at, m.failed_at), error = m.error
    from json_to_recordset(p_hours)
         as m(endpoint_id bigint, succeeded boolean, failing bigint, failed_at bigint, error text)
   where e.queue_id = m.endpoint_id and (e.failing_since > 0 or m.failing > 0);
  return 0;
end $$;

-- Move messages that are held for an endpoint to the dead set, while it is disabled: whoever turns it has its lanes
-- exclusively.
create or replace function endpoint_bury(p_id bigint, p_ids bigint[], p_reason text) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_queue bigint := (select queue_id from endpoint where id = p_id);
  v_ids bigint[];
begin
  perform lock_shared(array(select lane_id from queue_lane where queue_id = v_queue));
  if exists (select from endpoint where id = p_id and (state = 'disabled' or url = '')) then
    v_ids := lock_messages(array(select m.id from message m join rung r on r.id = m.rung_id
                                  where m.id = any (p_ids) and r.queue_id = v_queue and r.level >= 0));
  end if;
  return json_build_object(
    'now', now_ms(), 'expired', coalesce(cardinality(v_ids), 0),
    'rings', case when v_ids is null then '[]' else bury(v_ids, p_reason, now_ms()) end);
end $$;
