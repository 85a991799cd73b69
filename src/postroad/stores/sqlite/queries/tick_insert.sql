-- What becomes of a tick; two notes of one tick are refused.
insert into tick (schedule, at, fate, message_id, decided_at) values (?1, ?2, ?3, ?4, ?5)
