-- For webhooks: how each queue wants to be called, and what was seen of every try.

-- settings: JSON. sealed: signing secrets and headers, under the key of that name; '' is none.
create table webhook (
  queue_id bigint primary key references queue (id) on delete cascade,
  settings bytea not null,
  key      text not null,
  sealed   bytea not null
);
create index webhook_key on webhook (key, queue_id);

-- In the order of writing, so that retention takes from the front without an index on the time.
create table webhook_try (
  id          bigint generated always as identity primary key,
  message_id  bigint not null,
  number      int not null,
  started_at  bigint not null,
  level       int not null,
  outcome     text not null,
  status      int not null,
  took_ms     int not null,
  answered_ms int not null,
  address     text not null,
  fault       text not null,
  error       text not null,
  headers     bytea not null,
  answer      bytea not null check (length(answer) <= 16384)
);
create unique index webhook_try_message on webhook_try (message_id, number, started_at);

-- What was seen of tries: true whoever owns their lanes by now. Written twice it counts once.
create function note_tries_v1(
  p_message bigint[], p_number int[], p_started bigint[], p_level int[], p_outcome text[],
  p_status int[], p_took int[], p_answered int[], p_address text[], p_fault text[], p_error text[],
  p_headers bytea[], p_answer bytea[])
returns int language sql set search_path = postroad, pg_temp as $$
  insert into webhook_try (message_id, number, started_at, level, outcome, status, took_ms,
                           answered_ms, address, fault, error, headers, answer)
  select * from unnest(p_message, p_number, p_started, p_level, p_outcome, p_status, p_took,
                       p_answered, p_address, p_fault, p_error, p_headers, p_answer)
  on conflict do nothing;
  select cardinality(p_message)
$$;

create function forget_tries_v1(p_keep_ms bigint, p_limit int) returns int language sql
set search_path = postroad, pg_temp as $$
  with gone as (
    delete from webhook_try
     where id = any (array(select id from webhook_try order by id limit p_limit))
       and started_at < now_ms() - p_keep_ms
    returning 1)
  select count(*)::int from gone
$$;
