-- A message in a list. shelf: where it lies (message, broker, dead, history). owner: its queue, or of an unfinished
-- message its rung. because: what holds it, or of a dead message the reason.
create type listed as (
  id          bigint,
  owner       bigint,
  shelf       text,
  state       text,
  because     text,
  accepted_at bigint,
  due         bigint,
  finished_at bigint,
  level       int,
  attempts    int,
  order_key   text,
  error       text
);
