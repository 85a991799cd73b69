-- The log of webhook tries.

-- What was seen of tries is true whoever owns their lanes by now. Noted twice, it counts once.
create or replace function note_tries(
  p_message bigint[], p_number int[], p_started bigint[], p_level int[], p_outcome text[],
  p_status int[], p_took int[], p_answered int[], p_connect int[], p_address text[], p_fault text[], p_error text[],
  p_headers bytea[], p_answer bytea[])
returns int language sql set search_path = postroad, pg_temp as $$
  insert into webhook_try (message_id, number, started_at, level, outcome, status, took_ms,
                           answered_ms, connect_ms, address, fault, error, headers, answer)
  select * from unnest(p_message, p_number, p_started, p_level, p_outcome, p_status, p_took,
                       p_answered, p_connect, p_address, p_fault, p_error, p_headers, p_answer)
  on conflict do nothing;
  select cardinality(p_message)
$$;

-- Delete a slice of the oldest tries that are past their retention.
create or replace function forget_tries(p_keep_ms bigint, p_limit int) returns int language sql
set search_path = postroad, pg_temp as $$
  with gone as (
    delete from webhook_try
     where id = any (array(select id from webhook_try order by id limit p_limit))
       and started_at < now_ms() - p_keep_ms
    returning 1)
  select count(*)::int from gone
$$;
