-- Lists of messages by id, which is the order of acceptance; each statement for both orders.
-- Messages that were sent to be tried at once lie at the place that their id names, up to 64 ms before it,
-- and are read by place; the index message_moved has all others (docs/decisions/075).

-- name: list_queues_named
-- Find a tenant's queue by name.
select id, tenant, name from queue where tenant = ?1 and name = ?2

-- name: list_queues_of
-- Find the queues of a tenant whose names begin so.
select id, tenant, name from queue
 where tenant = ?1 and name >= ?2 and name < ?2 || char(1114111) order by name limit ?3

-- name: list_queues_of_all
-- Find the queues of all tenants with a name (else null), or whose names begin so.
select id, tenant, name from queue
 where (?1 is null or name = ?1) and name >= ?2 and name < ?2 || char(1114111) order by id limit ?3

-- name: list_queue_names
-- Read queues by number, and those of rungs.
select id, tenant, name from queue
 where id in (select value from json_each(?1)
              union select queue_id from rung where id in (select value from json_each(?2)))

-- name: list_rungs
-- Read the rungs of queues, or some rungs, and what holds their messages.
select r.id, r.queue_id, r.level, r.priority, r.order_group,
       case when h.ends > ?3 then h.because else '' end
  from rung r join hold h on h.rung_id = r.id
 where r.queue_id in (select value from json_each(?1)) or r.id in (select value from json_each(?2))

-- name: list_edge_newest
-- Find the place of the last of so many messages of a rung that lie where their ids say; thousands of others
-- may be passed over.
select count(*), min(place) from (
  select place from (
    select place, id from message where rung_id = ?1 and place between ?2 and ?3
     order by place desc, id desc limit ?6 + 2000)
   where place - (id >> 22) between 1704067199936 and 1704067200000 and id between ?4 and ?5
   limit ?6)

-- name: list_beyond_newest
-- Tell whether a rung has more messages between two places than were passed over.
select 1 from message where rung_id = ?1 and place between ?2 and ?3
 order by place desc, id desc limit 1 offset ?4

-- name: list_rung_newest
-- Read the first messages of a rung by id: between two places, and those that lie elsewhere.
select id from (
  select id from message
   where rung_id = ?1 and place between ?2 and ?3 and id between ?4 and ?5
     and place - (id >> 22) between 1704067199936 and 1704067200000
  union
  select * from (
    select id from message where rung_id = ?1 and id between ?4 and ?5
       and (level > 0 or place - (id >> 22) not between 1704067199936 and 1704067200000)
     order by id desc limit ?6))
 order by id desc limit ?6

-- name: list_message_newest
-- Walk over unfinished messages.
select id from message where id between ?1 and ?2 order by id desc limit ?3

-- name: list_dead_newest
-- Find the dead of a queue.
select id from dead where queue_id = ?1 and id between ?2 and ?3 order by id desc limit ?4

-- name: list_dead_walk_newest
-- Walk over the dead.
select id from dead where id between ?1 and ?2 order by id desc limit ?3

-- name: list_broker_newest
-- Find messages of a queue in a broker that something is known about.
select id from broker_message where queue_id = ?1 and done = 0 and id between ?2 and ?3
 order by id desc limit ?4

-- name: list_broker_walk_newest
-- Walk over messages in a broker that something is known about.
select id from broker_message where done = 0 and id between ?1 and ?2 order by id desc limit ?3

-- name: list_indexed_newest
-- Find messages of a queue by the index of finished messages.
select id from listed where queue_id = ?1 and id between ?2 and ?3 order by id desc limit ?4

-- name: list_history_newest
-- Walk over finished messages.
select id, queue_id from history where id between ?1 and ?2 order by id desc limit ?3

-- name: list_edge_oldest
-- Find the place of the last of so many messages of a rung that lie where their ids say; thousands of others
-- may be passed over.
select count(*), max(place) from (
  select place from (
    select place, id from message where rung_id = ?1 and place between ?2 and ?3
     order by place, id limit ?6 + 2000)
   where place - (id >> 22) between 1704067199936 and 1704067200000 and id between ?4 and ?5
   limit ?6)

-- name: list_beyond_oldest
-- Tell whether a rung has more messages between two places than were passed over.
select 1 from message where rung_id = ?1 and place between ?2 and ?3
 order by place, id limit 1 offset ?4

-- name: list_rung_oldest
-- Read the first messages of a rung by id: between two places, and those that lie elsewhere.
select id from (
  select id from message
   where rung_id = ?1 and place between ?2 and ?3 and id between ?4 and ?5
     and place - (id >> 22) between 1704067199936 and 1704067200000
  union
  select * from (
    select id from message where rung_id = ?1 and id between ?4 and ?5
       and (level > 0 or place - (id >> 22) not between 1704067199936 and 1704067200000)
     order by id limit ?6))
 order by id limit ?6

-- name: list_message_oldest
-- Walk over unfinished messages.
select id from message where id between ?1 and ?2 order by id limit ?3

-- name: list_dead_oldest
-- Find the dead of a queue.
select id from dead where queue_id = ?1 and id between ?2 and ?3 order by id limit ?4

-- name: list_dead_walk_oldest
-- Walk over the dead.
select id from dead where id between ?1 and ?2 order by id limit ?3

-- name: list_broker_oldest
-- Find messages of a queue in a broker that something is known about.
select id from broker_message where queue_id = ?1 and done = 0 and id between ?2 and ?3
 order by id limit ?4

-- name: list_broker_walk_oldest
-- Walk over messages in a broker that something is known about.
select id from broker_message where done = 0 and id between ?1 and ?2 order by id limit ?3

-- name: list_indexed_oldest
-- Find messages of a queue by the index of finished messages.
select id from listed where queue_id = ?1 and id between ?2 and ?3 order by id limit ?4

-- name: list_history_oldest
-- Walk over finished messages.
select id, queue_id from history where id between ?1 and ?2 order by id limit ?3

-- name: list_rows_message
-- Read unfinished messages.
select m.id, m.rung_id, 'waiting', '', m.accepted_at,
       m.due, 0, m.level, m.attempts, m.order_key,
       case when m.attempts = 0 then '' else
         coalesce((select a.error from attempt a where a.message_id = m.id
                    order by a.number desc limit 1), '') end
  from json_each(?1) j cross join message m on m.id = j.value

-- name: list_rows_dead
-- Read dead messages.
select d.id, d.queue_id, 'dead', d.reason, d.accepted_at, 0, d.died_at, d.level, d.attempts,
       d.order_key, d.error
  from json_each(?1) j cross join dead d on d.id = j.value

-- name: list_rows_broker
-- Read messages in a broker that something is known about.
select b.id, b.queue_id,
       case when h.ends > ?2 then 'held' else 'waiting' end,
       case when h.ends > ?2 then h.because else '' end, b.accepted_at, b.due, 0, b.level,
       b.attempts, '',
       case when b.attempts = 0 then '' else
         coalesce((select a.error from attempt a where a.message_id = b.id
                    order by a.number desc limit 1), '') end
  from json_each(?1) j cross join broker_message b on b.id = j.value and b.done = 0
  join queue_hold h on h.queue_id = b.queue_id and h.lane_id = b.lane_id

-- name: list_rows_history
-- Read finished messages.
select h.id, h.queue_id, h.state, '', h.accepted_at, 0, h.finished_at, h.level, h.attempts, '',
       case when h.attempts = 1 and h.state = 'delivered' then '' else
         coalesce((select a.error from attempt a where a.message_id = h.id
                    order by a.number desc limit 1), '') end
  from json_each(?1) j cross join history h on h.id = j.value

-- name: list_mark
-- Read up to which id the index has come.
select until from list_mark

-- name: list_mark_write
-- Note up to which id the index has come.
insert into list_mark values (1, ?1) on conflict do update set until = excluded.until

-- name: list_slice
-- Find the id up to which a slice of messages goes; null when there are fewer.
select min(id) from (
  select * from (select id from history where id > ?1 and id < ?2 order by id limit 1 offset ?3)
  union all
  select * from (select id from message where id > ?1 and id < ?2 order by id limit 1 offset ?3)
  union all
  select * from (select id from dead where id > ?1 and id < ?2 order by id limit 1 offset ?3))

-- name: list_put
-- Put the messages between two ids into the index, wherever they are: each will be finished one day.
insert or ignore into listed
select queue_id, id from history where id > ?1 and id <= ?2
union all
select r.queue_id, m.id from message m join rung r on r.id = m.rung_id where m.id > ?1 and m.id <= ?2
union all
select queue_id, id from dead where id > ?1 and id <= ?2
order by 1, 2

-- name: list_put_one
-- Put a message into the index that was accepted with an id that the index has passed.
insert or ignore into listed values (?1, ?2)

-- name: list_forget
-- Take a deleted message out of the index.
delete from listed where queue_id = ?2 and id = ?1
