-- What jobs give while they run and when they end, as JSON, until its time is over: of kind 0 how far
-- they have come (message.progress), of kind 1 their results (the option result_ttl), of kind -N what
-- try N raised.
create table job_output (
  id        integer not null,
  kind      integer not null,
  queue_id  integer not null,
  ends_at   integer not null,
  body      blob not null,
  primary key (id, kind)
) strict;
create index job_output_ends on job_output (ends_at);
create index job_output_told on job_output (queue_id, ends_at) where kind = 0;
create index job_output_queue on job_output (queue_id, id);
