-- Whether senders or loggers have anything to do.
select exists (select 1 from job where state <> 'LOGGED')
