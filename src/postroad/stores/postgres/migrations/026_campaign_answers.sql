-- Answers that come late, and callbacks that come early.

-- What calls gave. A result belongs to the op of its try, also when that was queued again since (its
-- owner was taken for dead), or settles what is uncertain since.
-- Row by row: as a join, without statistics, the planner reads the whole campaign (57 ms instead of
-- 4 for 143 results of 20,000).
create or replace function campaign_record_v1(p_campaign bigint, p_n bigint[], p_tries int[], p_state text[],
  p_provider text[], p_code text[], p_sub text[], p_sent bigint[], p_answered bigint[])
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  x campaign;
  v_was text;
  v_sent int := 0;
  v_failed int := 0;
  v_uncertain int := 0;
  v_back bigint;
begin
  for i in 1 .. coalesce(cardinality(p_n), 0) loop
    v_was := 'uncertain';
    if p_state[i] = 'unsent' then
      update campaign_op set state = 'queued'
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
           sub_type = p_sub[i], sent_at = p_sent[i], answered_at = p_answered[i]
     where campaign_id = p_campaign and n = p_n[i] and state = v_was
       and (v_was = 'unsent' or tries = p_tries[i]);
    continue when not found;
    v_sent := v_sent + (p_state[i] = 'sent')::int;
    v_failed := v_failed + (p_state[i] = 'failed')::int;
    v_uncertain := v_uncertain + (p_state[i] = 'uncertain')::int - (v_was = 'uncertain')::int;
    if p_state[i] = 'unsent' then
      v_back := least(v_back, p_n[i] - 1);
    end if;
  end loop;
  update campaign set sent = sent + v_sent, failed = failed + v_failed,
         uncertain = uncertain + v_uncertain, place = least(place, v_back)
   where id = p_campaign returning * into x;
  return json_build_object('total', x.total, 'unsent', x.total - x.sent - x.failed - x.uncertain,
    'sent', x.sent, 'failed', x.failed, 'uncertain', x.uncertain, 'undelivered', x.undelivered);
end $$;

-- A provider's word about one: it was taken, and how far it is. When it comes before the answer of
-- the call, the times are those of the intent. The op is locked first, as when a result is recorded:
-- the other way round each waited for the other.
create or replace function campaign_callback_v1(p_campaign bigint, p_n bigint, p_provider text, p_status text,
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
    v_bad := p_bad::int - (m.status in ('undelivered', 'failed', 'canceled'))::int;
  end if;
  update campaign_message
     set state = 'sent', provider_id = p_provider,
         tries = coalesce(o.tries, m.tries),
         sent_at = case when m.sent_at = 0 then coalesce(o.intent_at, 0) else m.sent_at end,
         answered_at = case when m.answered_at = 0 then now_ms() else m.answered_at end,
         sub_type = case when m.state = 'sent' then m.sub_type else 'by callback' end,
         status = case when m.status = any (p_earlier) then p_status else m.status end,
         status_at = case when m.status = any (p_earlier) then now_ms() else m.status_at end,
         error_code = case when m.status = any (p_earlier) and p_code <> '' then p_code
                           when m.state <> 'sent' then '' else m.error_code end
   where campaign_id = p_campaign and n = p_n;
  update campaign set sent = sent + (m.state <> 'sent')::int, failed = failed - (m.state = 'failed')::int,
         uncertain = uncertain - (m.state = 'uncertain')::int, undelivered = undelivered + v_bad
   where id = p_campaign and (m.state <> 'sent' or v_bad <> 0);
  return true;
end $$;
