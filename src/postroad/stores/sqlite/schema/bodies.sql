-- Bodies of delivered messages that are kept so that they can be sent again (the option keep_bodies).
create table kept_body (
  id        integer primary key,
  queue_id  integer not null,
  priority  integer not null,
  order_key text not null,
  headers   blob not null,
  body      blob not null,
  ends_at   integer not null
) strict;
create index kept_body_ends on kept_body (ends_at);
create index kept_body_queue on kept_body (queue_id, id);
