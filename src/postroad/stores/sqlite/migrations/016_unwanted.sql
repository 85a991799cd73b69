-- Somebody wished to cancel a message that its lane's owner has in hand: kept in case that one dies.
alter table message add column unwanted integer not null default 0;
create index message_unwanted on message (rung_id) where unwanted = 1;
