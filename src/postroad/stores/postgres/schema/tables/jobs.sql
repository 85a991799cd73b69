-- What jobs give while they run and when they end, as JSON, until its time is over: of kind 0 how far
-- they have come (message.progress), of kind 1 their results (the option result_ttl), of kind -N what
-- try N raised.
create table job_output (
  id        bigint not null,
  kind      bigint not null,
  queue_id  bigint not null,
  ends_at   bigint not null,
  body      bytea not null,
  primary key (id, kind)
);
create index job_output_ends on job_output (ends_at);
create index job_output_told on job_output (queue_id, ends_at) where kind = 0;
create index job_output_queue on job_output (queue_id, id);
