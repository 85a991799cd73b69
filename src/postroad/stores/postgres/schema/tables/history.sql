-- Finished messages. Delivered messages of one record whose ids differ only in their last 28 bits (they
-- were accepted within 64 ms) are one row with one index entry: a row for each message was half of what
-- a record cost (docs/decisions/038-history-in-batches.md).

-- One partition for each day, named after the day's number since 1970.
-- A row is one message, or several: then `id` is the first of them and `ids` has the last 28 bits of
-- all; `queues`, `accepted` and `took` are null where all have the same value.
-- Long arrays are stored outside the row and uncompressed: compressing them cost as much as it saved.
create table history_batch (
  id          bigint not null,
  queue_id    bigint not null,
  state       text not null check (state in ('delivered', 'cancelled')),
  late        boolean not null default false,
  accepted_at bigint not null,
  finished_at bigint not null,
  level       int not null,
  attempts    int not null,
  took_ms     int not null,
  ids         int[],
  queues      bigint[],
  accepted    bigint[],
  took        int[],
  check (cardinality(queues) = cardinality(ids) and cardinality(accepted) = cardinality(ids)
         and cardinality(took) = cardinality(ids))
) partition by range (finished_at);
alter table history_batch
  alter column ids set storage external, alter column queues set storage external,
  alter column accepted set storage external, alter column took set storage external;
create index history_batch_id on history_batch (id);
create index history_batch_finished on history_batch using brin (finished_at);
create index history_batch_moment on history_batch ((id >> 28)) where ids is not null;
-- What lists are read by: an entry for each row, not for each message. A row with several queues is found by any
-- of them; its entries wait in a short list and are sorted in together
-- (docs/decisions/075-lists-without-a-plain-index.md).
create index history_batch_queue on history_batch (queue_id, (id >> 28)) where queues is null;
create index history_batch_queues on history_batch using gin (queues) with (gin_pending_list_limit = 128);

-- One row for each message. A search by id reads all of it: use the function finished instead.
create view history as
select coalesce((p.id >> 28 << 28) + x.id, p.id) as id, coalesce(x.queue, p.queue_id) as queue_id, p.state,
       p.late, coalesce(x.accepted, p.accepted_at) as accepted_at, p.finished_at, p.level, p.attempts,
       coalesce(x.took, p.took_ms) as took_ms
  from history_batch p
  left join lateral unnest(p.ids, p.queues, p.accepted, p.took) x(id, queue, accepted, took) on true;
alter view history alter column late set default false;
