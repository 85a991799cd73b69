-- How campaigns move: states, jobs, and what calls to providers gave.

-- Change the state of a campaign and of its jobs; a new run makes jobs where there are none.
create or replace function campaign_move(p_id bigint, p_from text[], p_to text, p_reason text, p_at bigint,
  p_job_from text[], p_job_to text, p_retry boolean, p_jobs int)
returns boolean language plpgsql set search_path = postroad, pg_temp as $$
declare
  v_now bigint := now_ms();
  v_busy boolean;
begin
  perform from campaign where id = p_id and state = any (p_from) for update;
  if not found then return false; end if;
  v_busy := exists (select from job where campaign_id = p_id
                       and (owner is not null or state in ('READY', 'ENQUEUED', 'SENDING')));
  if p_retry and v_busy then return false; end if;
  update campaign set state = p_to, reason = p_reason,
         start_at = case when p_at > 0 then p_at else start_at end,
         started_at = case when p_to = 'running' and started_at = 0 then v_now else started_at end,
         ended_at = case when p_to in ('done', 'cancelled') then v_now else 0 end,
         place = case when p_to = 'running' then 0 else place end,
         failed = case when p_retry then 0 else failed end,
         suppressed = case when p_retry then 0 else suppressed end,
         temporary = case when p_retry then 0 else temporary end
   where id = p_id;
  if p_retry then
    update campaign_message set state = 'unsent', provider_id = '', error_code = '', sub_type = '',
           error = '', sent_at = 0, answered_at = 0, status = '', status_at = 0, temporary = 0
     where campaign_id = p_id and state in ('failed', 'suppressed');
  end if;
  update job set state = p_job_to where campaign_id = p_id and state = any (p_job_from);
  if p_to = 'running' and not exists (select from job where campaign_id = p_id) then
    insert into job (campaign_id, created_at) select p_id, v_now from generate_series(1, p_jobs);
  end if;
  return true;
end $$;

-- Delete some recipients of a campaign that is over or has not begun, and the campaign with the last of them. Null: it
-- may not be deleted. The ops are locked first, as when a result is recorded.
create or replace function campaign_delete_some(p_id bigint, p_limit int)
returns boolean language plpgsql set search_path = postroad, pg_temp as $$
declare
  v_count int;
begin
  perform from campaign_op where campaign_id = p_id order by n for update;
  perform from campaign where id = p_id and state in ('draft', 'cancelled', 'done') for update;
  if not found or exists (select from job where campaign_id = p_id
                             and (owner is not null or state in ('READY', 'ENQUEUED', 'SENDING'))) then
    return null;
  end if;
  update campaign set state = 'cancelled', reason = 'being deleted',
         ended_at = case when ended_at = 0 then now_ms() else ended_at end
   where id = p_id;
  delete from job where campaign_id = p_id;
  delete from campaign_op where campaign_id = p_id;
  delete from campaign_import where campaign_id = p_id;
  delete from campaign_message where campaign_id = p_id
     and n in (select n from campaign_message where campaign_id = p_id order by n limit p_limit);
  get diagnostics v_count = row_count;
  if v_count = p_limit then return false; end if;
  delete from campaign where id = p_id;
  return true;
end $$;

-- Copy unsent recipients into the ops of a job. The lock on the campaign keeps slices apart.
create or replace function campaign_enqueue(p_job bigint, p_owner bigint, p_epoch bigint, p_limit int)
returns int language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_campaign bigint;
  v_place bigint;
  v_last bigint;
  v_count int;
begin
  select x.id, x.place into v_campaign, v_place from job j join campaign x on x.id = j.campaign_id
   where j.id = p_job and j.owner = p_owner and j.epoch = p_epoch and j.lease_until > now_ms()
     and j.state in ('ENQUEUED', 'SENDING') and x.state = 'running' for update;
  if not found then return 0; end if;
  with slice as (
    select m.n, m.tries from campaign_message m
     where m.campaign_id = v_campaign and m.n > v_place and m.state = 'unsent'
       and not exists (select from campaign_op o where o.campaign_id = v_campaign and o.n = m.n)
     order by m.n limit p_limit),
  copied as (
    insert into campaign_op (campaign_id, n, job_id, tries)
    select v_campaign, n, p_job, tries from slice returning n)
  select max(n), count(*) into v_last, v_count from copied;
  if v_count > 0 then
    update campaign set place = v_last where id = v_campaign;
    update job set state = 'SENDING' where id = p_job and state = 'ENQUEUED';
  end if;
  return v_count;
end $$;

-- Record what calls gave. A result belongs to the op of its try, even if that was queued again meanwhile (its
-- owner was taken for dead), or settles what has become uncertain. Row by row: as a join, without
-- statistics, the planner reads the whole campaign (57 ms instead of 4 for 143 results of 20,000).
create or replace function campaign_record(p_campaign bigint, p_n bigint[], p_tries int[], p_state text[],
  p_provider text[], p_code text[], p_sub text[], p_error text[], p_sent bigint[], p_answered bigint[], p_due bigint[])
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  x campaign;
  v_was text;
  v_sent int := 0;
  v_failed int := 0;
  v_temporary int := 0;
  v_suppressed int := 0;
  v_uncertain int := 0;
  v_back bigint;
begin
  for i in 1 .. coalesce(cardinality(p_n), 0) loop
    v_was := 'uncertain';
    if p_state[i] = 'unsent' then
      update campaign_op set state = 'queued', due = greatest(due, p_due[i]), deferred = deferred + (p_due[i] > 0)::int
       where campaign_id = p_campaign and n = p_n[i] and tries = p_tries[i] and state = 'intent';
      continue when found;
    else
      delete from campaign_op where campaign_id = p_campaign and n = p_n[i] and tries = p_tries[i];
      if found then
        v_was := 'unsent';
      end if;
    end if;
    continue when v_was = p_state[i];
    update campaign_message
       set state = p_state[i], tries = p_tries[i], provider_id = p_provider[i], error_code = p_code[i],
           sub_type = p_sub[i], error = p_error[i], sent_at = p_sent[i], answered_at = p_answered[i],
           temporary = (p_state[i] = 'failed' and p_due[i] > 0)::int
     where campaign_id = p_campaign and n = p_n[i] and state = v_was
       and (v_was = 'unsent' or tries = p_tries[i]);
    continue when not found;
    v_sent := v_sent + (p_state[i] = 'sent')::int;
    v_failed := v_failed + (p_state[i] = 'failed')::int;
    v_temporary := v_temporary + (p_state[i] = 'failed' and p_due[i] > 0)::int;
    v_suppressed := v_suppressed + (p_state[i] = 'suppressed')::int;
    v_uncertain := v_uncertain + (p_state[i] = 'uncertain')::int - (v_was = 'uncertain')::int;
    if p_state[i] = 'unsent' then
      v_back := least(v_back, p_n[i] - 1);
    end if;
  end loop;
  update campaign set sent = sent + v_sent, failed = failed + v_failed, suppressed = suppressed + v_suppressed,
         uncertain = uncertain + v_uncertain, temporary = temporary + v_temporary, place = least(place, v_back)
   where id = p_campaign returning * into x;
  if not found then return null; end if;  -- a late result of a campaign that was deleted
  return json_build_object('total', x.total, 'unsent', x.total - x.sent - x.failed - x.uncertain - x.suppressed,
    'sent', x.sent, 'failed', x.failed, 'uncertain', x.uncertain, 'undelivered', x.undelivered,
    'suppressed', x.suppressed, 'temporary', x.temporary);
end $$;

-- What is left begun of a job that nobody works on is uncertain, or queued again where the receivers of its channel
-- recognise a repetition by its id.
create or replace function campaign_doubt(p_campaign bigint, p_job bigint, p_repeatable boolean) returns void
language plpgsql set search_path = postroad, pg_temp as $$
begin
  if p_repeatable then
    update campaign_op set state = 'queued' where job_id = p_job and state = 'intent';
  else
    perform campaign_record(p_campaign, array_agg(n), array_agg(tries),
              array_agg('uncertain'::text), array_agg(''::text), array_agg(''::text),
              array_agg('lost'::text), array_agg(''::text), array_agg(intent_at), array_agg(0::bigint), array_agg(0::bigint))
       from campaign_op where job_id = p_job and state = 'intent';
  end if;
end $$;

-- Give a job back, none of whose calls is under way; it is SENT when nothing of it is left. No call was begun to the
-- uncalled ones: their intents were stored, but the answer to that was lost.
create or replace function campaign_release(p_job bigint, p_owner bigint, p_epoch bigint, p_uncalled bigint[],
  p_repeatable boolean)
returns void language plpgsql set search_path = postroad, pg_temp as $$
declare
  v_campaign bigint;
begin
  select campaign_id into v_campaign from job where id = p_job and owner = p_owner and epoch = p_epoch for update;
  if not found then return; end if;
  update campaign_op set state = 'queued' where job_id = p_job and n = any (p_uncalled) and state = 'intent';
  perform campaign_doubt(v_campaign, p_job, p_repeatable);
  update job set owner = null,
         state = case when state not in ('ENQUEUED', 'SENDING') then state
                      when exists (select from campaign_op where job_id = p_job) then 'READY' else 'SENT' end
   where id = p_job;
end $$;

-- Free the jobs of owners that were silent for too long. A stopped job stays stopped.
create or replace function campaign_reap(p_repeats text[]) returns int language plpgsql
set search_path = postroad, pg_temp as $$
declare
  v record;
  v_jobs int := 0;
begin
  for v in select j.id, j.campaign_id, c.kind = any (p_repeats) as repeatable
             from job j join campaign x on x.id = j.campaign_id join credential c on c.id = x.credential
            where j.owner is not null and j.lease_until < now_ms()
            order by j.id for update of j skip locked
  loop
    perform campaign_doubt(v.campaign_id, v.id, v.repeatable);
    update job set owner = null, epoch = epoch + 1,
           state = case when state in ('ENQUEUED', 'SENDING') then 'READY' else state end
     where id = v.id;
    v_jobs := v_jobs + 1;
  end loop;
  return v_jobs;
end $$;

-- Finalise campaigns whose jobs are over and whose counts add up; returns those whose counts do not.
create or replace function campaign_log() returns text[] language plpgsql
set search_path = postroad, pg_temp as $$
declare
  v record;
  e record;
  v_wrong text[] := '{}';
begin
  for v in select x.* from campaign x
            where x.id in (select campaign_id from job where state in ('SENT', 'STOPPED'))
              and not exists (select from job j where j.campaign_id = x.id
                                 and (j.owner is not null or j.state in ('READY', 'ENQUEUED', 'SENDING')))
            order by x.id for update of x skip locked
  loop
    select count(*) as total, count(*) filter (where state = 'unsent') as unsent,
           count(*) filter (where state = 'sent') as sent, count(*) filter (where state = 'failed') as failed,
           count(*) filter (where state = 'uncertain') as uncertain,
           count(*) filter (where state = 'suppressed') as suppressed,
           count(*) filter (where status in ('bounced', 'undelivered', 'failed', 'canceled')) as undelivered
      into e from campaign_message where campaign_id = v.id;
    if (e.total, e.sent, e.failed, e.uncertain, e.undelivered, e.suppressed)
       is distinct from (v.total, v.sent, v.failed, v.uncertain, v.undelivered, v.suppressed) then
      v_wrong := v_wrong || v.name;
      continue;
    end if;
    update campaign_message m set tries = o.tries from campaign_op o
     where o.campaign_id = v.id and m.campaign_id = v.id and m.n = o.n;
    delete from campaign_op where campaign_id = v.id;
    if v.state = 'running' and e.unsent > 0 then
      update campaign set place = 0 where id = v.id;
      update job set state = 'READY' where campaign_id = v.id and state in ('SENT', 'STOPPED');
    else
      update job set state = 'LOGGED' where campaign_id = v.id and state in ('SENT', 'STOPPED');
      update campaign set state = 'done', ended_at = now_ms() where id = v.id and state = 'running';
    end if;
  end loop;
  return v_wrong;
end $$;

-- Uncertain recipients (all, or these) count as sent, or as unsent.
create or replace function campaign_settle(p_campaign bigint, p_state text, p_n bigint[]) returns int
language plpgsql set search_path = postroad, pg_temp as $$
declare
  v record;
begin
  with settled as (
    update campaign_message set state = p_state, sub_type = 'by hand', error = '', answered_at = now_ms()
     where campaign_id = p_campaign and state = 'uncertain' and (p_n = '{}' or n = any (p_n))
    returning n)
  select count(*) as count, min(n) as first into v from settled;
  update campaign set uncertain = uncertain - v.count,
         sent = sent + case when p_state = 'sent' then v.count else 0 end,
         place = case when p_state = 'unsent' then least(place, v.first - 1) else place end
   where id = p_campaign and v.count > 0;
  return v.count;
end $$;

-- A provider reports on a recipient: it was taken, and how far it has come. When that comes before the answer of
-- the call, the times are those of the intent. The op is locked first, as when a result is recorded: the
-- other way round the two deadlocked.
create or replace function campaign_callback(p_campaign bigint, p_n bigint, p_provider text, p_status text,
  p_code text, p_earlier text[], p_bad boolean)
returns boolean language plpgsql set search_path = postroad, pg_temp as $$
declare
  m campaign_message;
  o campaign_op;
  v_bad int := 0;
begin
  select * into o from campaign_op where campaign_id = p_campaign and n = p_n for update;
  select * into m from campaign_message where campaign_id = p_campaign and n = p_n for update;
  if not found or m.provider_id not in ('', p_provider) then return false; end if;
  delete from campaign_op where campaign_id = p_campaign and n = p_n;
  if m.status = any (p_earlier) then  -- a handset may show what was said to be lost
    v_bad := p_bad::int - (m.status in ('bounced', 'undelivered', 'failed', 'canceled'))::int;
  end if;
  update campaign_message
     set state = 'sent', provider_id = p_provider, temporary = 0,
         tries = coalesce(o.tries, m.tries),
         sent_at = case when m.sent_at = 0 then coalesce(o.intent_at, 0) else m.sent_at end,
         answered_at = case when m.answered_at = 0 then now_ms() else m.answered_at end,
         sub_type = case when m.state = 'sent' then m.sub_type else 'by callback' end,
         error = case when m.state = 'sent' then m.error else '' end,
         status = case when m.status = any (p_earlier) then p_status else m.status end,
         status_at = case when m.status = any (p_earlier) then now_ms() else m.status_at end,
         error_code = case when m.status = any (p_earlier) and p_code <> '' then p_code
                           when m.state <> 'sent' then '' else m.error_code end
   where campaign_id = p_campaign and n = p_n;
  update campaign set sent = sent + (m.state <> 'sent')::int, failed = failed - (m.state = 'failed')::int,
         uncertain = uncertain - (m.state = 'uncertain')::int, undelivered = undelivered + v_bad,
         suppressed = suppressed - (m.state = 'suppressed')::int, temporary = temporary - m.temporary
   where id = p_campaign and (m.state <> 'sent' or v_bad <> 0);
  return true;
end $$;

-- Insert rows that COPY refused; returns the lines of those that are there already.
create or replace function campaign_load(p_campaign bigint, p_first bigint, p_line int[], p_recipient text[], p_fields text[])
returns int[] language sql set search_path = postroad, pg_temp as $$
  with given as materialized (
    select distinct on (recipient) * from unnest(p_line, p_recipient, p_fields) as r(line, recipient, fields)
     order by recipient, line),
  fresh as (
    select g.*, row_number() over (order by line) as k from given g
     where not exists (select from campaign_message m
                        where m.campaign_id = p_campaign and m.recipient = g.recipient)),
  kept as (
    insert into campaign_message (campaign_id, n, line, recipient, fields)
    select p_campaign, p_first + k, line, recipient, fields from fresh returning line)
  select coalesce(array_agg(l.line order by l.line), '{}') from unnest(p_line) as l(line)
   where l.line not in (select line from kept)
$$;
