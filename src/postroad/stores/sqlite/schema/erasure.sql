-- Jobs that erase what is stored about a tenant or a recipient.

-- recipient: empty for a whole tenant, and when the job is done. digest: of the recipient. step, after: how
-- far it is. erased: JSON, rows by table; they are counted in the transaction that deletes them.
create table erasure (
  id          integer primary key,
  tenant      text not null,
  recipient   text not null,
  digest      text not null,
  asked_at    integer not null,
  ended_at    integer not null default 0,
  step        text not null,
  step_at     integer not null,
  after       integer not null default 0,
  waits_for   integer not null default 0,
  erased      text not null default '{}',
  kept_queues integer not null default 0
) strict;
create index erasure_waiting on erasure (id) where ended_at = 0;
