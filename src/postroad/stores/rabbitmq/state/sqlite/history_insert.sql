-- A delivered message; the first word on it stands. One that was dead is late. Tries that others
-- have made meanwhile count too; where this very one was in doubt, it is counted already.
insert or ignore into history (id, queue_id, state, late, accepted_at, finished_at, level, attempts,
                               took_ms)
values (?1, ?2, 'delivered', exists (select 1 from dead where id = ?1), ?3, ?4, ?5,
        max(?6, coalesce((select attempts from broker_message where id = ?1), 0)
                + not exists (select 1 from message where id = ?1)),
        ?7)
