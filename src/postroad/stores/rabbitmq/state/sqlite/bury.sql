-- A dead letter into the dead set, unless this copy is spent or it was delivered.
insert or ignore into dead (id, queue_id, lane_id, reason, died_at, level, attempts, accepted_at,
                            priority, slot, order_key, error, status, headers, body)
select ?1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, '', ?11, ?12, ?13, ?14
 where not exists (select 1 from broker_message where id = ?1 and hop >= ?2)
   and not exists (select 1 from history where id = ?1)
