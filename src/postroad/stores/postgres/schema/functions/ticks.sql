-- Timetables and their ticks.

-- Make a timetable of a program, which counts from now; of one that is there only what is sent may change. None if
-- one of its name was made at run time.
create or replace function open_schedule(p_tenant text, p_name text, p_cron text, p_tz text, p_queue text,
                                         p_missed text)
returns json language plpgsql
set search_path = postroad, pg_temp as $$
begin
  insert into schedule as s (tenant, name, origin, cron, tz, every_ms, start_at, decided_to, queue, body, is_bytes,
                             missed, paused, look_at, version, changed_at, error)
  values (p_tenant, p_name, 'code', p_cron, p_tz, 0, 0, now_ms(), p_queue, '', false, p_missed,
          false, 4611686018427387904, 0, now_ms(), '')
  on conflict (tenant, name) do update set queue = excluded.queue, missed = excluded.missed
   where s.origin = 'code' and (s.queue, s.missed) is distinct from (excluded.queue, excluded.missed);
  if exists (select from schedule where tenant = p_tenant and name = p_name and origin = 'code') then
    return schedule_json(p_tenant, p_name);
  end if;
  return 'null'::json;
end $$;

-- Note what becomes of ticks and store the messages of those to be sent, leaving out those decided before.
-- p_draft: the place of a tick's draft among a_, or null. The lock on the schedule makes who comes second see
-- what the first has decided. Notes are deleted after a while; `decided_to` is kept. One that was changed, so that its
-- version is another, is left alone.
create or replace function tick(
  p_tenant text, p_name text, p_version bigint, p_cron text, p_tz text, p_until bigint, p_look bigint,
  p_at bigint[], p_draft int[],
  a_id bigint[], a_queue bigint[], a_lane bigint[], a_order_group int[], a_priority int[], a_accepted bigint[],
  a_due bigint[], a_expires bigint[], a_order_key text[], a_key text[], a_digest bytea[],
  a_headers bytea[], a_body bytea[])
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_now bigint := now_ms();
  v_decided bigint;
  v_version bigint;
  v_rows arrival[];
  v_rings json := '[]';
begin
  select decided_to, version into v_decided, v_version from schedule
   where tenant = p_tenant and name = p_name for update;
  if v_decided is null then
    return json_build_object('now', v_now);
  end if;
  if v_version <> p_version then
    return json_build_object('now', v_now, 'schedule', schedule_json(p_tenant, p_name));
  end if;
  v_rows := array(
    select row(0, a_id[t.draft], a_queue[t.draft], a_lane[t.draft], a_order_group[t.draft],
               a_priority[t.draft], a_accepted[t.draft], a_due[t.draft], a_expires[t.draft],
               a_order_key[t.draft], a_key[t.draft], a_digest[t.draft], a_headers[t.draft],
               a_body[t.draft])::arrival
      from unnest(p_at, p_draft) t(at, draft)
     where t.at > v_decided and t.draft is not null order by t.at);
  if cardinality(v_rows) > 0 then
    v_rings := accept_rows(v_rows) -> 'rings';
  end if;
  insert into tick (tenant, schedule, at, fate, message_id, decided_at)
  select p_tenant, p_name, t.at, case when t.draft is null then 'skipped' else 'sent' end,
         coalesce(a_id[t.draft], 0), v_now
    from unnest(p_at, p_draft) t(at, draft) where t.at > v_decided;
  update schedule
     set cron = p_cron, tz = p_tz, decided_to = greatest(decided_to, p_until), look_at = p_look, error = ''
   where tenant = p_tenant and name = p_name;
  return json_build_object('now', v_now, 'rings', v_rings, 'schedule', schedule_json(p_tenant, p_name));
end $$;

create or replace function schedule_json(p_tenant text, p_name text) returns json language sql stable as $$
  select json_build_object('name', name, 'cron', cron, 'tz', tz, 'decided_ms', decided_to, 'tenant', tenant,
                           'every_ms', every_ms, 'start_ms', start_at, 'version', version, 'paused', paused)
    from schedule where tenant = p_tenant and name = p_name
$$;
