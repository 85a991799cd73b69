-- Bodies of delivered messages that are kept so that they can be sent again (the option keep_bodies).
create table kept_body (
  id        bigint primary key,
  queue_id  bigint not null,
  priority  int not null,
  order_key text not null,
  headers   bytea not null,
  body      bytea not null,
  ends_at   bigint not null
);
create index kept_body_ends on kept_body (ends_at);
create index kept_body_queue on kept_body (queue_id, id);
