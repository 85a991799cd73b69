-- Queues by their specs, made with their lanes where they are new.
select postroad.open_queues($1)
